"""Step 2 of the flow: one folder = one paper = one page (`method.py`) and its training. Adding a method is these and a line here."""

from workbench.methods.aim import AIM
from workbench.methods.base import Method
from workbench.methods.chu_dpdm import ChuDPDM
from workbench.methods.class_means import ClassMeans
from workbench.methods.class_moments import ClassMoments
from workbench.methods.cluster_moments import ClusterMoments
from workbench.methods.datalens import DataLens
from workbench.methods.ddm import DDM
from workbench.methods.dp_cgan import DPCGAN
from workbench.methods.dp_diffusion import DPDiffusion
from workbench.methods.dp_feta import DPFETA
from workbench.methods.dp_gan import DPGAN
from workbench.methods.dp_hp import DPHP
from workbench.methods.dp_kernel import DPKernel
from workbench.methods.dp_ldm import DPLDM
from workbench.methods.dp_lora import DPLoRA
from workbench.methods.dp_mepf import DPMEPF
from workbench.methods.dp_merf import DPMERF
from workbench.methods.dp_ntk import DPNTK
from workbench.methods.dp_promise import DPPromise
from workbench.methods.dp_sad import DPSAD
from workbench.methods.dp_sgd_dm import DPSGDDM
from workbench.methods.dp_sinkhorn import DPSinkhorn
from workbench.methods.dpdm import DPDM
from workbench.methods.dpgen import DPGEN
from workbench.methods.g_pate import GPATE
from workbench.methods.gs_wgan import GSWGAN
from workbench.methods.independent_marginals import IndependentMarginals
from workbench.methods.mst import MST
from workbench.methods.nonprivate import NonPrivate
from workbench.methods.p3dm import P3DM
from workbench.methods.p3gm import P3GM
from workbench.methods.pate_gan import PATEGAN
from workbench.methods.pearl import PEARL
from workbench.methods.prior_moments import PriorMoments
from workbench.methods.private_classifier import PrivateClassifier
from workbench.methods.private_evolution import PrivateEvolution
from workbench.methods.privimage import PrivImage
from workbench.methods.psg import PSG
from workbench.methods.public_choice import PublicChoice
from workbench.methods.selective_pretraining import SelectivePretraining
from workbench.methods.tab_pe import TabPE
from workbench.methods.votes_and_clusters import VotesAndClusters

METHODS: dict[str, type[Method]] = {
    "nonprivate": NonPrivate,
    "class-means": ClassMeans,
    "class-moments": ClassMoments,
    "prior-moments": PriorMoments,
    "cluster-moments": ClusterMoments,
    "dp-merf": DPMERF,
    "dp-mepf": DPMEPF,
    "pearl": PEARL,
    "dp-hp": DPHP,
    "dp-kernel": DPKernel,
    "dp-ntk": DPNTK,
    "public-choice": PublicChoice,
    "private-classifier": PrivateClassifier,
    "private-evolution": PrivateEvolution,
    "votes-and-clusters": VotesAndClusters,
    "dp-promise": DPPromise,
    "dp-sgd-dm": DPSGDDM,
    "dp-sad": DPSAD,
    "dpgen": DPGEN,
    "p3dm": P3DM,
    "dpdm": DPDM,
    "dp-feta": DPFETA,
    "privimage": PrivImage,
    "psg": PSG,
    "dp-sinkhorn": DPSinkhorn,
    "p3gm": P3GM,
    "dp-gan": DPGAN,
    "dp-cgan": DPCGAN,
    "gs-wgan": GSWGAN,
    "pate-gan": PATEGAN,
    "g-pate": GPATE,
    "datalens": DataLens,
    "dp-diffusion": DPDiffusion,
    "dp-ldm": DPLDM,
    "dp-lora": DPLoRA,
    "selective-pretraining": SelectivePretraining,
    "chu-dpdm": ChuDPDM,
    "ddm": DDM,
    "independent-marginals": IndependentMarginals,
    "mst": MST,
    "aim": AIM,
    "tab-pe": TabPE,
}
