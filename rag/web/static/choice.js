// The book and the profile of the next question: two quiet lists beside the name, shown where there is a choice.

const book = document.getElementById("book");
const profile = document.getElementById("profile");
const only = document.getElementById("only-book");
let books = [];

// `changed(what)` is called when the reader has chosen another; `what` names it.
export function useChoice(changed) {
  book.addEventListener("change", () => changed(`the book “${bookTitle(book.value)}”`));
  profile.addEventListener("change", () => changed(`the profile “${profile.value}”`));
}

// Shows the books and profiles on offer.
export function offer(found, profiles, usual) {
  books = found;
  const current = found.find((one) => one.current) || found[0];
  book.replaceChildren(...found.map((one) => new Option(label(one), one.name, false, one === current)));
  book.parentElement.hidden = found.length < 2;
  document.body.classList.toggle("choosing", found.length > 1);
  only.textContent = found.length === 1 ? `${current.name} · ${counted(current)}` : "";
  profile.replaceChildren(...profiles.map((name) => new Option(name, name, false, name === usual)));
  profile.parentElement.hidden = profiles.length < 2;
}

// What the reader has chosen, as the fields of a request.
export const chosen = () => ({ book: book.value || undefined, profile: profile.value || undefined });

// Shows the book and the profile of a conversation. False if its book is not on offer.
export function settle(ofBook, ofProfile) {
  const known = books.some((one) => one.name === ofBook);
  if (known) book.value = ofBook;
  if ([...profile.options].some((one) => one.value === ofProfile)) profile.value = ofProfile;
  return known;
}

// Nobody chooses while an answer is written.
export function lock(busy) {
  book.disabled = busy;
  profile.disabled = busy;
}

// The title of a book where there are several, else nothing.
export function bookTitle(name) {
  const found = books.length > 1 && books.find((one) => one.name === name);
  return found ? label(found) : "";
}

function label(one) {
  const title = one.title || one.name;
  const same = books.filter((other) => (other.title || other.name) === title);
  return same.length > 1 ? `${title} (${one.name})` : title;
}

const counted = (one) => `${(one.passages || 0).toLocaleString("en")} ${one.passages === 1 ? "passage" : "passages"}`;
