// A click on a head sorts the table by that column: numbers by size, words by letter, blanks last.
function compare(a, b) {
  if (a === "" || b === "") return (a === "") - (b === "");
  const x = Number(a), y = Number(b);
  return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y;
}

function sortBy(table, place, isDescending) {
  const body = table.tBodies[0];
  const key = (row) => (row.cells[place].dataset.key ?? row.cells[place].textContent).replace("–", "");
  const isBlank = (row) => key(row) === "";
  const rows = [...body.rows].sort((a, b) => {
    const order = compare(key(a), key(b));
    return isDescending && !isBlank(a) && !isBlank(b) ? -order : order;
  });
  body.append(...rows);
}

function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, place) => {
    head.tabIndex = 0;
    const toggle = () => {
      const isDescending = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", isDescending ? "descending" : "ascending");
      sortBy(table, place, isDescending);
    };
    head.addEventListener("click", toggle);
    head.addEventListener("keydown", (event) => event.key === "Enter" && toggle());
  });
}

document.querySelectorAll("table.sortable").forEach(makeSortable);
