/** Texts that spreadsheets read as formulas, but not plain numbers such as `-5.00`. */
const formula = /^(?!-\d+(?:\.\d+)?$)[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/

/** Puts an apostrophe in front of a formula, as the OWASP page on CSV injection recommends. */
export function escapeFormula(cell: string): string {
  return formula.test(cell) ? `'${cell}` : cell
}

/** Removes the apostrophe that {@link escapeFormula} has added. */
export function unescapeFormula(cell: string): string {
  return cell.startsWith("'") && formula.test(cell.slice(1)) ? cell.slice(1) : cell
}
