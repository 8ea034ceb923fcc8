/** In words that fit below the table. */
export const reasonOf = (error) => (error instanceof Error ? (error.stack ?? error.message) : String(error))

/** What a promise becomes. @throws where that takes longer */
export async function within(seconds, promise) {
  let timer
  const late = new Promise((_, reject) => {
    // A string: where a timer runs says nothing.
    timer = setTimeout(() => reject(`it was not done after ${seconds} s`), seconds * 1000)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * A part of a figure. Where it fails, the rows that it feeds say why, and the other parts go on; where none of them needs
 * it any more, it is not run. @returns undefined where there is no value
 */
export async function tried(rows, seconds, work) {
  if (rows.every(({ error }) => error !== undefined)) return undefined
  try {
    return await within(seconds, work())
  } catch (error) {
    for (const row of rows) row.error ??= reasonOf(error)
    return undefined
  }
}
