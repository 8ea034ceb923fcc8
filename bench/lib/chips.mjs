// The chips that everything is measured on. Their UIDs rise, in hex as in decimal: 16 digits each.
const first = 0x04000000000080
const step = 97 * 0x100

const number = (index) => first + index * step
export const uidHex = (index) => number(index).toString(16).toUpperCase().padStart(14, '0')
export const uidDecimal = (index) => String(number(index))

/** A CSV file's text. @param columns further columns, as [name, value] */
export function csvOfChips(from, count, columns = []) {
  const tail = columns.map(([, value]) => `,${value}`).join('')
  const lines = [['uid', ...columns.map(([name]) => name)].join(',')]
  for (let at = from; at < from + count; at++) lines.push(uidHex(at) + tail)
  return `${lines.join('\n')}\n`
}

export const range = (from, count, step = 1) => Array.from({ length: count }, (_, i) => from + i * step)

/** The same order at every run, and none that a database could gain by. */
export function shuffled(values) {
  const out = [...values]
  let state = 1
  for (let at = out.length - 1; at > 0; at--) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    const other = state % (at + 1)
    const held = out[at]
    out[at] = out[other]
    out[other] = held
  }
  return out
}
