// What the page does beyond links and forms: pictures dropped on it, words as chips, heat maps of a pair.
// The form is all the state there is; the server renders, and every text from data goes in as text.

const form = document.getElementById("ask");
if (form) start();

function start() {
  const image = form.elements.image;
  const fields = [...form.querySelectorAll(".words")].map(chips);

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    fields.forEach((commit) => commit());
    ask(event.submitter);
  });
  form.addEventListener("change", (event) => {
    if (event.target === image) searchByFile();
    if (event.target.type === "range") ask();
    if (event.target.id === "text" && event.target.value.trim()) startFrom("text");
  });
  acceptPictures(image);
  document.addEventListener("click", (event) => {
    const why = event.target.closest(".why");
    if (why) explain(why);
  });
  document.getElementById("reasons").addEventListener("click", (event) => {
    if (event.target === event.currentTarget) event.currentTarget.close(); // beside it
  });
  addEventListener("popstate", () => location.reload());
  showReasons();
}

// A query begins from one thing: a file, an id or a text.
function startFrom(name) {
  if (name !== "id") form.elements.id.value = "";
  if (name !== "text" && form.elements.text) form.elements.text.value = "";
  if (name !== "image") form.elements.image.value = "";
}

function searchByFile() {
  if (!form.elements.image.files.length) return;
  startFrom("image");
  ask();
}

function acceptPictures(image) {
  const accept = (transfer) => {
    if (!transfer?.files.length) return false;
    image.files = transfer.files;
    searchByFile();
    return true;
  };
  const dropping = (on) => document.body.classList.toggle("dropping", on);
  addEventListener("dragover", (event) => {
    event.preventDefault();
    dropping(true);
  });
  addEventListener("dragleave", (event) => event.relatedTarget || dropping(false));
  addEventListener("drop", (event) => {
    event.preventDefault();
    dropping(false);
    accept(event.dataTransfer);
  });
  addEventListener("paste", (event) => accept(event.clipboardData) && event.preventDefault());
}

let asking = new AbortController();

// Ask what the form holds, and take the query and the results over from the page that answers.
async function ask(submitter) {
  const [file] = form.elements.image.files;
  if (file && file.size > Number(form.dataset.limit)) return tell(form.dataset.tooLarge);
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  const answer = document.getElementById("answer");
  answer.ariaBusy = "true";
  const data = new FormData(form, submitter);
  const given = [...data].filter(([name, value]) => name !== "image" && value !== "" && !isUsual(name));
  const address = "/?" + new URLSearchParams(given);
  try {
    const response = await fetch(...(file ? ["/", { method: "POST", body: data, signal }] : [address, { signal }]));
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    if (!page.getElementById("query")) return location.reload(); // the index is gone or empty: the page says so
    for (const id of ["query", "answer"]) document.getElementById(id).replaceWith(page.getElementById(id));
    showReasons();
    if (!file) history.replaceState(null, "", address);
    else if (location.search) history.pushState(null, "", "/");
  } catch (error) {
    if (error.name !== "AbortError") tell("The server does not answer; is scenekin serve still running?");
  }
}

function isUsual(name) {
  const input = form.elements[name];
  return input?.type === "range" && input.value === input.defaultValue && !new URLSearchParams(location.search).has(name);
}

function tell(sentence) {
  const problem = make("p", { className: "problem", role: "alert" }, sentence);
  const answer = document.getElementById("answer");
  answer.ariaBusy = "false";
  answer.querySelector(".problem")?.remove();
  answer.prepend(problem);
}

function make(tag, properties = {}, text = "") {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(text);
  return element;
}

// Words of one field as chips, with known words offered while typing. Gives what turns pending text into chips.
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
    const known = [...list.querySelectorAll("input")].some((held) => held.value === phrase);
    if (!phrase || known) return;
    const chip = make("li");
    const remove = make("button", { type: "button", ariaLabel: `Take out ${phrase}` }, "×");
    remove.addEventListener("click", () => {
      chip.remove();
      input.focus();
      ask();
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
    looking.abort();
    options.hidden = true;
    options.replaceChildren();
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const choose = (option) => {
    const before = input.value.split(/\s+/).slice(0, -1);
    commit([...before, option.dataset.word].join(" "));
    ask();
  };
  const move = (step) => {
    const all = [...options.children];
    const at = all.findIndex((option) => option.ariaSelected === "true");
    const next = all[(at + step + (at < 0 && step < 0 ? 1 : 0) + all.length) % all.length];
    all.forEach((option) => (option.ariaSelected = String(option === next)));
    if (next) input.setAttribute("aria-activedescendant", next.id);
  };

  let looking = new AbortController();
  input.addEventListener("input", async () => {
    if (input.value.includes(",")) {
      commit();
      return ask();
    }
    looking.abort();
    looking = new AbortController();
    const { signal } = looking;
    try {
      const response = await fetch("/api/words?" + new URLSearchParams({ prefix: input.value.slice(-200) }), { signal });
      const { words = [] } = response.ok ? await response.json() : {};
      options.replaceChildren(...words.map(({ word, images }, place) => {
        const option = make("li", { id: `${options.id}-${place}`, role: "option", ariaSelected: "false" }, word);
        option.dataset.word = word;
        option.append(make("small", {}, images.toLocaleString("en")));
        return option;
      }));
      options.hidden = !words.length;
      input.setAttribute("aria-expanded", String(Boolean(words.length)));
    } catch (error) {
      if (error.name !== "AbortError") close(); // another letter was typed meanwhile
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
        ask();
      } else form.requestSubmit();
    } else if (event.key === "Escape") close();
    else if (event.key === "Backspace" && !input.value) list.lastElementChild?.querySelector("button").click();
  });
  input.addEventListener("blur", close);
  options.addEventListener("mousedown", (event) => {
    event.preventDefault(); // the field keeps the focus
    const option = event.target.closest("li");
    if (option) choose(option);
  });
  commit(pending);
  return commit;
}

// Buttons that need this script appear with it.
function showReasons() {
  for (const why of document.querySelectorAll(".why")) why.hidden = false;
}

async function explain(why) {
  const [file] = form.elements.image.files;
  const dialog = document.getElementById("reasons");
  const text = document.getElementById("reasons-text");
  const [a, b] = ["a", "b"].map((side) => document.getElementById(`reasons-${side}`));
  const found = why.closest("li").querySelector("img");
  a.src = document.querySelector("#query img").src;
  b.src = found.src;
  [a.alt, b.alt] = ["The query", found.alt];
  b.nextElementSibling.textContent = found.alt;
  text.textContent = "Looking …";
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
    text.textContent = "The server does not answer; is scenekin serve still running?";
  }
}
