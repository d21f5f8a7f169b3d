// Adds to the page's links and forms: dropped images, words as chips, heat maps of a pair.
// The form holds all state. The server renders; data is only ever inserted as text.

const UNREACHABLE = "The server cannot be reached. Is scenekin serve still running?";

const form = document.getElementById("search");
if (form) start();

function start() {
  const { image } = form.elements;
  const commits = [...form.querySelectorAll(".words")].map(chips);
  if (document.querySelector("#answer .score")) markApplied();

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    commits.forEach((commit) => commit());
    search(event.submitter);
  });
  form.addEventListener("input", ({ target }) => {
    if (target.type === "range") target.previousElementSibling.textContent = Number(target.value).toFixed(1);
  });
  form.addEventListener("change", ({ target }) => {
    if (target === image) searchByFile();
    if (target.type === "range" || target.name === "recall") search();
    if (target.id === "text" && target.value.trim()) newQuery = "text";
  });
  acceptPictures(image);
  document.addEventListener("click", (event) => {
    const why = event.target.closest(".why");
    if (why) explain(why);
  });
  document.getElementById("explanation").addEventListener("click", (event) => {
    if (event.target === event.currentTarget) event.currentTarget.close(); // the backdrop
  });
  addEventListener("popstate", () => location.reload());
  showWhyButtons();
}

function searchByFile() {
  if (!form.elements.image.files.length) return;
  newQuery = "image";
  search();
}

function acceptPictures(image) {
  const accept = (transfer) => {
    if (!transfer?.files.length) return false;
    image.files = transfer.files;
    searchByFile();
    return true;
  };
  const highlight = (on) => document.body.classList.toggle("dropping", on);
  addEventListener("dragover", (event) => {
    event.preventDefault();
    highlight(true);
  });
  addEventListener("dragleave", (event) => event.relatedTarget || highlight(false));
  addEventListener("drop", (event) => {
    event.preventDefault();
    highlight(false);
    accept(event.dataTransfer);
  });
  addEventListener("paste", (event) => accept(event.clipboardData) && event.preventDefault());
}

let newQuery = null; // "image" or "text" once the user gave a new one
let acceptedFile = null; // the uploaded image whose results are shown
let running = new AbortController();

// Send the form, then replace the query and the results with those of the returned page.
async function search(submitter) {
  const [file] = form.elements.image.files;
  const upload = file && newQuery !== "text" ? file : null;
  if (upload && upload.size > Number(form.dataset.limit)) return refuseUpload(form.dataset.tooLarge);
  running.abort();
  running = new AbortController();
  const { signal } = running;
  document.getElementById("answer").ariaBusy = "true";
  const data = searchData(submitter);
  const fields = [...data].filter(([name, value]) => name !== "image" && value !== "" && !isDefault(name));
  const address = "/?" + new URLSearchParams(fields);
  try {
    const response = await fetch(...(upload ? ["/", { method: "POST", body: data, signal }] : [address, { signal }]));
    if (response.headers.get("content-type").startsWith("application/json")) // refused before it was read
      return showError((await response.json()).detail);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const error = page.querySelector(".problem")?.textContent;
    if (upload && error) return [413, 415].includes(response.status) ? refuseUpload(error) : showError(error);
    if (!page.getElementById("query")) return location.reload(); // there is no index any more
    for (const id of ["query", "answer"]) document.getElementById(id).replaceWith(page.getElementById(id));
    showWhyButtons();
    acceptQuery(upload);
    if (!upload) history.replaceState(null, "", address);
    else if (location.search) history.pushState(null, "", "/");
  } catch (error) {
    if (error.name !== "AbortError") showError(UNREACHABLE);
  }
}

// The form's fields. A new image or text starts afresh, without the words of the search before.
function searchData(submitter) {
  const data = new FormData(form, submitter);
  if (!newQuery) return data;
  for (const name of ["id", "text", "image"]) if (name !== newQuery) data.delete(name);
  for (const name of ["add", "remove"]) {
    data.delete(name);
    for (const { value } of form.querySelectorAll(`.chips li:not([data-applied]) [name="${name}"]`)) data.append(name, value);
  }
  return data;
}

// Bring the form in line with the results shown.
function acceptQuery(upload) {
  acceptedFile = upload;
  if (newQuery) {
    form.elements.id.value = "";
    if (newQuery === "image" && form.elements.text) form.elements.text.value = "";
    if (newQuery === "text") form.elements.image.value = "";
    for (const chip of form.querySelectorAll(".chips [data-applied]")) chip.remove();
    newQuery = null;
  }
  markApplied();
}

function markApplied() {
  for (const chip of form.querySelectorAll(".chips li")) chip.dataset.applied = "";
}

// Keep the form and the results as they were before the upload.
function refuseUpload(message) {
  const before = new DataTransfer();
  if (acceptedFile) before.items.add(acceptedFile);
  form.elements.image.files = before.files;
  newQuery = null;
  showError(message);
}

function isDefault(name) {
  const preset = form.elements[name]?.dataset?.default;
  return preset !== undefined && Number(form.elements[name].value) === Number(preset);
}

function showError(message) {
  const answer = document.getElementById("answer");
  answer.ariaBusy = "false";
  answer.querySelector(".problem")?.remove();
  answer.prepend(make("p", { className: "problem", role: "alert" }, message));
}

function make(tag, properties = {}, text = "") {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(text);
  return element;
}

// Turn a field into chips with word completion. Return the function that turns pending text into chips.
function chips(block) {
  const { name } = block.dataset;
  const input = block.querySelector("input");
  const list = make("ul", { className: "chips" });
  const options = make("ul", { className: "options", id: `${name}-options`, role: "listbox", hidden: true });
  options.ariaLabel = "Known words";
  input.before(list);
  input.after(options);
  input.removeAttribute("name");
  const pending = input.value;
  for (const [key, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false" }))
    input.setAttribute(key, value);
  input.setAttribute("aria-controls", options.id);

  const add = (phrase) => {
    const present = [...list.querySelectorAll("input")].some(({ value }) => value === phrase);
    if (!phrase || present) return;
    const chip = make("li");
    const remove = make("button", { type: "button", ariaLabel: `Remove ${phrase}` }, "×");
    remove.addEventListener("click", () => {
      chip.remove();
      input.focus();
      search();
    });
    chip.append(make("span", {}, phrase), make("input", { type: "hidden", name, value: phrase }), remove);
    list.append(chip);
  };
  const commit = (text = input.value) => {
    text.split(",").forEach((phrase) => add(phrase.trim()));
    input.value = "";
    close();
  };
  const close = () => {
    completing.abort();
    options.hidden = true;
    options.replaceChildren();
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const choose = (option) => {
    const before = input.value.split(/\s+/).slice(0, -1);
    commit([...before, option.dataset.word].join(" "));
    search();
  };
  const move = (step) => {
    const all = [...options.children];
    const at = all.findIndex((option) => option.ariaSelected === "true");
    const next = all[(at + step + (at < 0 && step < 0 ? 1 : 0) + all.length) % all.length];
    all.forEach((option) => (option.ariaSelected = String(option === next)));
    if (next) input.setAttribute("aria-activedescendant", next.id);
  };

  let completing = new AbortController();
  input.addEventListener("input", async () => {
    if (input.value.includes(",")) {
      commit();
      return search();
    }
    completing.abort();
    completing = new AbortController();
    const { signal } = completing;
    try {
      const response = await fetch("/api/words?" + new URLSearchParams({ prefix: input.value.slice(-200) }), { signal });
      const { words = [] } = response.ok ? await response.json() : {};
      options.replaceChildren(...words.map(({ word, images }, index) => {
        const option = make("li", { id: `${options.id}-${index}`, role: "option", ariaSelected: "false" }, word);
        option.dataset.word = word;
        option.append(make("small", { title: "images" }, images.toLocaleString("en")));
        return option;
      }));
      options.hidden = !words.length;
      input.setAttribute("aria-expanded", String(Boolean(words.length)));
    } catch (error) {
      if (error.name !== "AbortError") close(); // aborted: another letter was typed
    }
  });
  input.addEventListener("keydown", (event) => {
    const chosen = options.querySelector('[aria-selected="true"]');
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (chosen) choose(chosen);
      else if (input.value.trim()) {
        commit();
        search();
      } else form.requestSubmit();
    } else if (event.key === "Escape") close();
    else if (event.key === "Backspace" && !input.value) list.lastElementChild?.querySelector("button").click();
  });
  input.addEventListener("blur", close);
  options.addEventListener("mousedown", (event) => {
    event.preventDefault(); // keeps the focus in the field
    const option = event.target.closest("li");
    if (option) choose(option);
  });
  commit(pending);
  return commit;
}

// These buttons need JavaScript, so they are hidden without it.
function showWhyButtons() {
  for (const why of document.querySelectorAll(".why")) why.hidden = false;
}

async function explain(why) {
  const [file] = form.elements.image.files;
  const dialog = document.getElementById("explanation");
  const text = document.getElementById("explanation-text");
  const [a, b] = ["a", "b"].map((side) => document.getElementById(`explanation-${side}`));
  const match = why.closest("li").querySelector("img");
  a.src = document.querySelector("#query img").src;
  b.src = match.src;
  [a.alt, b.alt] = ["Query", match.alt];
  b.nextElementSibling.textContent = match.alt;
  text.textContent = "Computing …";
  dialog.showModal();
  const data = new FormData();
  if (why.dataset.query) data.set("a", why.dataset.query);
  else if (file) data.set("image", file);
  data.set("b", why.dataset.id);
  try {
    const response = await fetch("/api/explain", { method: "POST", body: data });
    const answer = await response.json();
    if (!response.ok) return (text.textContent = answer.detail);
    [a.src, b.src] = [answer.pictures.a, answer.pictures.b];
    text.textContent = answer.summary;
  } catch {
    text.textContent = UNREACHABLE;
  }
}
