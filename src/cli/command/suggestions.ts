/** What somebody who types a word like the first may have wished instead of it. */
const wishes: Readonly<Record<string, readonly string[]>> = {
  remove: ['move', 'rename', 'restore'],
  move: ['remove'],
  rename: ['remove'],
  restore: ['remove'],
  enable: ['disable'],
  disable: ['enable'],
  link: ['unlink'],
  unlink: ['link'],
  pause: ['unpause'],
  unpause: ['pause'],
  import: ['export'],
  export: ['import'],
  install: ['uninstall'],
  uninstall: ['install'],
  start: ['stop', 'restart'],
  stop: ['start'],
  reset: ['set'],
}

/** The number of letters to insert, remove, or replace. */
const distance = (one: string, other: string): number => {
  let row = Array.from({ length: other.length + 1 }, (_, j) => j)
  for (let i = 1; i <= one.length; i++) {
    const above = row
    row = [i]
    for (let j = 1; j <= other.length; j++) {
      const replaced = (above[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1)
      row.push(Math.min((above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, replaced))
    }
  }
  return row[other.length] ?? 0
}

const bare = (word: string): string => word.replace(/^--/, '')

/** False if the word that was typed is as close to another wish, often the opposite one. */
const isMeant = (typed: string, suggested: string): boolean =>
  !(wishes[bare(suggested)] ?? []).some(
    (wish) => distance(bare(typed), wish) <= distance(bare(typed), bare(suggested)),
  )

/** Removes suggestions that would turn a wish into another. @param lines Commander's error */
export const withoutOpposites = ([first = '', ...rest]: readonly string[]): string[] => {
  const [, typed] = /^error: unknown (?:command|option) '([^']*)'/.exec(first) ?? []
  if (typed === undefined) return [first, ...rest]
  const meant = rest.flatMap((line) => {
    const [, list] = /^\(Did you mean (?:one of )?(.*)\?\)$/.exec(line) ?? []
    if (list === undefined) return [line]
    const left = list.split(', ').filter((suggested) => isMeant(typed, suggested))
    if (left.length === 0) return []
    return [`(Did you mean ${left.length > 1 ? 'one of ' : ''}${left.join(', ')}?)`]
  })
  return [first, ...meant]
}
