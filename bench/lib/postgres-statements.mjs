import { setTimeout as sleep } from 'node:timers/promises'

const transactions = /^(begin|start|commit|rollback|savepoint|release|set|discard|deallocate)\b/i

/**
 * What a tap asks of a PostgreSQL server, as that one logs it while nothing else is tapped.
 * @param words that tell its statements, each with what stands for it in pgbench
 * @returns statements as `{ text, values }`, in their order
 */
export async function recordStatements(database, words, tap) {
  const log = async (what) => {
    await database.ask(`alter system set log_statement = '${what}'`)
    await database.ask('select pg_reload_conf()')
    // Sessions read it between two statements.
    await sleep(300)
  }
  await database.ask(`alter system set log_line_prefix = '@%p@ '`)
  await log('all')
  const before = database.log().length
  await tap()
  await sleep(200)
  const said = database.log().slice(before)
  await log('none')
  const found = entriesOf(said).filter(
    ({ text, values }) =>
      !transactions.test(text) && values.some((value) => words.some((word) => value?.includes(word))),
  )
  if (found.length === 0) throw new Error(`the log has no statement of the tap: ${said.slice(0, 2000)}`)
  return found.map(({ text, values }) => ({ text, values: values.map(listOf) }))
}

function entriesOf(said) {
  const entries = []
  // Further lines of an entry begin with a tab.
  for (const entry of said.replaceAll('\n\t', '\n').split(/^(?=@\d+@ )/m)) {
    const text = /^@\d+@ LOG: {2}execute [^:]+: ([\s\S]*)$/.exec(entry)?.[1]
    const given = /^@\d+@ DETAIL: {2}[Pp]arameters: ([\s\S]*)$/.exec(entry)?.[1]
    if (text !== undefined) entries.push({ text: text.trim(), values: [] })
    else if (given !== undefined && entries.length > 0) entries.at(-1).values = valuesOf(given)
  }
  return entries
}

const valuesOf = (given) =>
  [...given.matchAll(/\$\d+ = (?:NULL|'((?:[^']|'')*)')/g)].map(([, value]) =>
    value === undefined ? null : value.replaceAll("''", "'"),
  )

/** An array that was sent as text. Numbers stay text: the server knows their types. */
function listOf(value) {
  const items = /^\{(.*)\}$/s.exec(value ?? '')?.[1]
  if (items === undefined || (items.startsWith('"') && items.includes('":'))) return value
  return [...items.matchAll(/"((?:[^"\\]|\\.)*)"|([^,]+)/g)].map(([, quoted, bare]) =>
    quoted !== undefined ? quoted.replace(/\\(.)/g, '$1') : bare === 'NULL' ? null : bare,
  )
}
