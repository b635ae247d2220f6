"use strict";
// The list of conversations. Every text comes from the data block and enters the page as text, never as markup.

const PAGE = 100;

// Does a result belong to what was asked for: "failed", "passed" or "all", and a text that occurs in it, or "case:" and its id.
function matches(result, shown, wanted) {
  if (shown === "failed" && result.passed) return false;
  if (shown === "passed" && !result.passed) return false;
  if (!wanted) return true;
  if (wanted.startsWith("case:")) return result.case === wanted.slice(5).trim();
  if (result.searched === undefined) result.searched = textOf(result).toLowerCase();
  return wanted.toLowerCase().split(/\s+/).every((word) => result.searched.includes(word));
}

// Everything that can be read of a result.
function textOf(result) {
  const parts = [result.case, result.place, result.agent, result.final, result.stop, result.error, result.state, ...result.tags];
  for (const score of result.scores) parts.push(score.name, score.expected, score.actual, score.reason);
  for (const message of result.messages) {
    parts.push(message.who, message.text, ...message.shown);
    for (const call of message.calls) parts.push(call.name, call.arguments);
  }
  return parts.filter(Boolean).join("\n");
}

// The short facts of a result, as one line.
function factsOf(result) {
  const facts = [result.agent, seconds(result.seconds)];
  if (result.tokens !== null) facts.push(`${result.tokens.toLocaleString("en")} tokens`);
  if (result.cost !== null) facts.push(money(result.cost));
  return facts.filter(Boolean).join(" · ");
}

function seconds(value) {
  return value < 1 ? `${Math.round(value * 1000)} ms` : `${value.toFixed(value < 10 ? 2 : 1)} s`;
}

function money(value) {
  return `$${value.toFixed(value < 0.1 ? 5 : 2)}`;
}

// What a result says in its second line: why it failed, or else what the user said.
function lineOf(result) {
  if (result.error) return result.error;
  const wrong = result.scores.find((score) => !score.passed);
  if (!wrong) return result.said;
  const told = [wrong.expected && `expected ${wrong.expected}`, wrong.actual && `got ${wrong.actual}`].filter(Boolean).join(", ");
  return `${wrong.name}: ${[wrong.reason, told].filter(Boolean).join("; ")}`;
}

function make(tag, className, ...inside) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...inside.filter((part) => part !== null && part !== undefined));
  return node;
}

function badge(passed) {
  return make("span", `badge ${passed ? "passed" : "failed"}`, passed ? "passed" : "failed");
}

function row(result, repeated) {
  const title = make("span", "title", make("strong", "", result.case), repeated ? make("span", "soft", ` · repetition ${result.repetition + 1}`) : null);
  const line = make("span", "said", lineOf(result));
  line.dir = "auto";
  const summary = make("summary", "", badge(result.passed), title, make("span", "facts soft small", factsOf(result)), line);
  const node = make("details", "result", summary);
  node.addEventListener("toggle", () => { if (node.open && node.childElementCount === 1) node.append(body(result)); });
  return node;
}

function body(result) {
  const facts = make("dl", "");
  const fact = (name, value) => { if (value) facts.append(make("dt", "", name), make("dd", "", value)); };
  fact("Case", result.place);
  fact("Tags", result.tags.join(", "));
  fact("Agents", result.path);
  fact("Calls", result.calls);
  fact("Ended", result.stop);
  fact("Usage", result.usage);
  const node = make("div", "body", facts);
  if (result.error) node.append(make("p", "error", result.error));
  if (result.scores.length) node.append(make("ul", "scores", ...result.scores.map(scoreNode)));
  node.append(...result.messages.flatMap(messageNodes));
  if (result.state) node.append(make("details", "", make("summary", "soft small", "Context variables at the end"), make("pre", "", result.state)));
  return node;
}

function scoreNode(score) {
  const verdict = score.passed ? "passed" : "failed";
  const between = score.value === "0" || score.value === "1" ? "" : ` with ${score.value}`;
  const node = make("li", verdict, make("strong", "", score.name), ` ${verdict}${between}`);
  if (score.expected) node.append(make("p", "", make("span", "soft", "expected "), score.expected));
  if (score.actual) node.append(make("p", "", make("span", "soft", "got "), score.actual));
  if (score.reason) node.append(make("p", "", make("span", "soft", "reason "), score.reason));
  return node;
}

function messageNodes(message) {
  const who = make("div", "who", make("span", "", message.who), message.given ? make("span", "", "given") : null);
  const text = make("div", "text", message.text);
  text.dir = "auto";
  const node = make("div", `message ${message.role}`, who, message.text ? text : null);
  node.append(...message.shown.map((part) => make("div", "shown", part)));
  node.append(...message.calls.map((call) => make("pre", "", `${call.name}(${call.arguments})`)));
  return message.handoff ? [make("div", "handoff", message.handoff), node] : [node];
}

function start() {
  const results = JSON.parse(document.getElementById("data").textContent);
  const form = document.getElementById("filter");
  const list = document.getElementById("list");
  const count = document.getElementById("count");
  const more = document.getElementById("more");
  const repeated = results.some((result) => result.repetition > 0);
  let found = [];

  function extend() {
    const drawn = list.childElementCount;
    list.append(...found.slice(drawn, drawn + PAGE).map((result) => row(result, repeated)));
    more.hidden = list.childElementCount >= found.length;
  }
  function refresh() {
    const wanted = form.elements.text.value.trim();
    found = results.filter((result) => matches(result, form.elements.shown.value, wanted));
    count.textContent = `${found.length.toLocaleString("en")} of ${results.length.toLocaleString("en")} conversations`;
    list.replaceChildren();
    extend();
  }
  let waiting = 0;
  form.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(refresh, 120); });
  form.addEventListener("submit", (event) => event.preventDefault());
  more.addEventListener("click", extend);
  for (const link of document.querySelectorAll("a[data-case]")) {
    link.addEventListener("click", () => {
      form.elements.shown.value = "all";
      form.elements.text.value = `case:${link.dataset.case}`;
      refresh();
    });
  }
  form.hidden = false;
  refresh();
}

if (typeof document !== "undefined") start();
