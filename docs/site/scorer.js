"use strict";

/* Ranks what a search finds: pages whose titles share words with the question first, and pages written for readers before records. */
const FOLDERS = { start: 20, guide: 20, concepts: 20, methods: 10, reference: 10, proofs: 8, lessons: 5 };
const words = (text) => text.toLowerCase().split(/[^a-z0-9-]+/).filter(Boolean);

var Scorer = {
  score: (result) => {
    const [docname, title, , , score] = result;
    const asked = words(new URLSearchParams(window.location.search).get("q") || "");
    const named = new Set(words(title));
    const shared = asked.filter((word) => named.has(word)).length / Math.max(1, asked.length);
    return score + 40 * shared + (FOLDERS[docname.split("/")[0]] || 0);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
