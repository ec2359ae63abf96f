"""The scripts of a panel's file: sliders over frames, and the visitor's guesses with their ROC."""

DRAWINGS = """
if (typeof drawings !== 'undefined') for (const draw of drawings) draw();
"""

FRAMES = """
for (const box of document.querySelectorAll('.frames')) {
  const range = box.querySelector('input[type=range]');
  if (!range) continue;
  const sections = [...box.querySelectorAll(':scope > section')], output = box.querySelector('output');
  range.addEventListener('input', () => {
    sections.forEach((section, place) => { section.hidden = place !== Number(range.value); });
    output.textContent = sections[range.value].dataset.label;
  });
}
"""

GUESSES = """
const told = document.getElementById('runs');
if (told) {
  const {pictures, scores, truth, chart, trace} = JSON.parse(told.textContent), ratings = [];
  const words = ['Surely not', 'Rather not', 'Could be', 'Rather yes', 'Surely yes'];
  const at = (id) => document.getElementById(id);
  const share = (there, least) => {
    const of = ratings.filter((_, run) => truth[run] === there);
    return of.filter((rating) => rating >= least).length / of.length;
  };
  const curve = () => {
    const seen = new Set(ratings.map((_, run) => truth[run]));
    return seen.size < 2 ? [] : [[0, 0], ...[5, 4, 3, 2, 1].map((least) => [share(false, least), share(true, least)])];
  };
  const show = () => {
    const run = ratings.length, over = run >= pictures.length;
    at('run').textContent = over ? 'All runs are guessed.' : `Run ${run + 1} of ${pictures.length}`;
    at('samples').hidden = at('ratings').hidden = over;
    if (!over) at('samples').src = pictures[run];
    at('score').textContent = run ? `The best attack's score of run ${run}: ${scores[run - 1]} (above 0: rather yes)` : '';
    if (run) {
      const decided = ratings.filter((rating) => rating !== 3).length;
      const right = ratings.filter((rating, place) => (rating > 3) === truth[place] && rating !== 3).length;
      const last = truth[run - 1] ? 'It took part.' : 'It did not take part.';
      at('said').textContent = `Run ${run}: you said "${words[ratings[run - 1] - 1]}". ${last} Right so far: ${right} of ${decided}.`;
    }
    const points = curve();
    Plotly.restyle(chart, {x: [points.map((point) => point[0])], y: [points.map((point) => point[1])]}, [trace]);
  };
  words.forEach((word, place) => {
    const button = document.createElement('button');
    button.textContent = word;
    button.addEventListener('click', () => { ratings.push(place + 1); show(); });
    at('ratings').append(button);
  });
  show();
}
"""
