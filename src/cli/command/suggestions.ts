/** Synonyms of each command, as other programs call it; the first ones need their noun where none was typed. */
const synonyms: Readonly<Record<string, string>> = {
  'daemon start': 'start run up launch restart',
  'daemon stop': 'stop down halt kill quit restart',
  'daemon status': 'status health ps',
  'daemon logs': 'logs log',
  'daemon install': 'install',
  'daemon uninstall': 'uninstall',
  'context remove': 'logout',
  'chips import': 'import',
  'chips export': 'export',
  'nfc read': 'read scan',
  'nfc verify': 'verify',
  'nfc provision': 'provision write encode',
  'phygitals transfer': 'transfer send',
  chips: 'chip tag tags',
  taps: 'tap',
  'api-keys': 'key keys',
  'admin-tokens': 'token tokens',
  'badge-events': 'badge badges event events',
  guestbook: 'guestbooks event events',
  audit: 'history',
  context: 'contexts config profile profiles',
  login: 'auth signin',
  list: 'ls all index get',
  show: 'get view info inspect describe cat',
  create: 'add new make',
  register: 'add',
  import: 'add create load upload',
  export: 'download dump save',
  remove: 'delete del rm destroy erase drop',
  revoke: 'remove delete del rm destroy',
  edit: 'update change modify set patch',
  roll: 'rotate renew regenerate',
  disable: 'deactivate block lock suspend',
  enable: 'activate unblock unlock reactivate',
  link: 'attach connect bind pair',
  unlink: 'detach disconnect unbind unpair',
  cancel: 'abort',
  resume: 'continue retry',
  undo: 'revert rollback',
  redeliver: 'resend replay retry',
  transfer: 'send give',
  follow: 'watch tail',
  watch: 'follow',
  start: 'run up launch restart',
  stop: 'down halt kill quit restart',
  logs: 'log',
  verify: 'check validate',
  test: 'check',
  read: 'scan',
  provision: 'program write encode',
  use: 'switch select',
  preview: 'show open',
}
const typedFor = () => Object.entries(synonyms).map(([name, typed]) => [name, typed.split(' ')] as const)

/** Other verbs that somebody who mistypes the first may have meant. */
const intents: Readonly<Record<string, readonly string[]>> = {
  remove: ['move', 'rename', 'restore'],
  move: ['remove'],
  rename: ['remove'],
  restore: ['remove', 'restart'],
  assign: ['unassign'],
  approve: ['reject'],
  reject: ['approve'],
  login: ['logout', 'logs'],
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

/** The number of letters to insert, remove, replace, or swap with the next one. */
const distance = (one: string, other: string): number => {
  let row = Array.from({ length: other.length + 1 }, (_, j) => j)
  let above: number[] = []
  for (let i = 1; i <= one.length; i++) {
    const before = above
    above = row
    row = [i]
    for (let j = 1; j <= other.length; j++) {
      const replaced = (above[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1)
      const isSwapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]
      const swapped = isSwapped ? (before[j - 2] ?? 0) + 1 : replaced
      row.push(Math.min((above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, replaced, swapped))
    }
  }
  return row[other.length] ?? 0
}

const bare = (word: string): string => word.replace(/^--/, '')

const prefixes = ['un', 'dis', 'de']
const isOpposite = (one: string, other: string): boolean =>
  prefixes.some((prefix) => one === prefix + other || other === prefix + one) ||
  one.startsWith('un') !== other.startsWith('un')

/** False if the word that was typed is as close to another wish, often the opposite one. */
const isMeant = (typed: string, suggested: string): boolean =>
  !isOpposite(bare(typed), bare(suggested)) &&
  !(intents[bare(suggested)] ?? []).some(
    (synonym) => distance(bare(typed), synonym) <= distance(bare(typed), bare(suggested)),
  )

/** Words that people mean: they are no slips of the hand, whatever they look like. */
const isWord = (typed: string): boolean =>
  [...Object.entries(intents), ...typedFor()].some(
    ([name, others]) => name === typed || others.includes(typed),
  )

/** The nearest names within a typing error. */
const similar = (typed: string, names: readonly string[]): readonly string[] => {
  const far = Math.ceil(typed.length / 3)
  const near = names.map((name) => ({ name, by: distance(typed, name) }))
  const nearest = Math.min(far, ...near.map(({ by }) => by))
  return near.filter(({ name, by }) => by === nearest && isMeant(typed, name)).map(({ name }) => name)
}

const asSentence = (meant: readonly string[]): string =>
  `Did you mean ${meant.length > 1 ? 'one of ' : ''}${meant.join(', ')}?`

/** What to type instead of a command that does not exist. @param names of those that do */
export const insteadOf = (typed: string, names: readonly string[]): string => {
  const same = typedFor()
    .filter(([name, others]) => others.includes(typed) && names.includes(name.split(' ')[0] ?? ''))
    .map(([name]) => name)
  if (same.length > 0) return asSentence(same)
  const meant = isWord(typed) ? [] : similar(typed, names)
  return meant.length > 0 ? asSentence(meant) : `Available: ${names.join(', ')}`
}

/** Removes suggestions of options that would turn a wish into another. @param lines Commander's error */
export const withoutOpposites = ([first = '', ...rest]: readonly string[]): string[] => {
  const [, typed] = /^error: unknown option '([^']*)'/.exec(first) ?? []
  if (typed === undefined) return [first, ...rest]
  const meant = rest.flatMap((line) => {
    const [, list] = /^\(Did you mean (?:one of )?(.*)\?\)$/.exec(line) ?? []
    if (list === undefined) return [line]
    const remaining = list.split(', ').filter((suggested) => isMeant(typed, suggested))
    if (remaining.length === 0) return []
    return [asSentence(remaining)]
  })
  return [first, ...meant]
}
