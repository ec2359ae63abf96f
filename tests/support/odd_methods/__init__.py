"""Methods that live in the tests only, of shapes that the contract allows and the workbench's own do not have; one file each."""

from support.odd_methods.guided import GuidedByPrivateClassifier
from support.odd_methods.interleaved import Interleaved
from support.odd_methods.marginals import MarginalsOfTable
from support.odd_methods.paying_sampler import PayingSampler
from support.odd_methods.teacher import TeacherStudent
from workbench.methods.base import Method

ODD_METHODS: dict[str, type[Method]] = {
    "odd-marginals": MarginalsOfTable,
    "odd-teacher": TeacherStudent,
    "odd-guided": GuidedByPrivateClassifier,
    "odd-interleaved": Interleaved,
    "odd-paying-sampler": PayingSampler,
}
