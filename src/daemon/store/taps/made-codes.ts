/** The subject of a code. */
export type CodeSubject =
  /** `tokenRow` null: the token that is minted for the chip. `round`: see ChipsTable.claimRound. */
  | { type: 'PHYGITAL_CLAIM'; tokenRow: number | null; round: number }
  | { type: 'POAP_EVENT'; badgeEventId: number; assignmentId: number }
  | { type: 'GUESTBOOK_EVENT'; guestbookEventId: number }

/** The codes that a tap made at once. Their ordinals follow those of the codes made before. */
export interface MadeCodes {
  /** `find`: by the tap itself. `page`: by its own ref, on its page. Otherwise the ordinal of the ref that was queried. */
  by: 'find' | 'page' | number
  /** ISO 8601 */
  until: string
  subjects: readonly CodeSubject[]
}

/** A key of the subject; using one code of a tap ends the others with the same key. */
export function subjectKey(subject: CodeSubject): string {
  switch (subject.type) {
    case 'PHYGITAL_CLAIM':
      return subject.tokenRow === null ? 'mint' : `token ${subject.tokenRow}`
    case 'POAP_EVENT':
      return `badge ${subject.badgeEventId}`
    case 'GUESTBOOK_EVENT':
      return `guestbook ${subject.guestbookEventId}`
  }
}

function stored(subject: CodeSubject): [kind: 'c' | 'b' | 'g', id: number | null, bound: number] {
  switch (subject.type) {
    case 'PHYGITAL_CLAIM':
      return ['c', subject.tokenRow, subject.round]
    case 'POAP_EVENT':
      return ['b', subject.badgeEventId, subject.assignmentId]
    case 'GUESTBOOK_EVENT':
      return ['g', subject.guestbookEventId, 0]
  }
}

function subjectOf([kind, id, bound]: ReturnType<typeof stored>): CodeSubject {
  if (kind === 'c') return { type: 'PHYGITAL_CLAIM', tokenRow: id, round: bound }
  if (kind === 'b') return { type: 'POAP_EVENT', badgeEventId: Number(id), assignmentId: bound }
  return { type: 'GUESTBOOK_EVENT', guestbookEventId: Number(id) }
}

type StoredCodes = [by: MadeCodes['by'], until: string, ...subjects: ReturnType<typeof stored>[]]

/** The text appended to `taps.codes`: an element of a JSON list with its trailing comma. */
export const storedCodes = ({ by, until, subjects }: MadeCodes): string =>
  `${JSON.stringify([by, until, ...subjects.map(stored)] satisfies StoredCodes)},`

/** In the order in which they were made; `first` is the ordinal of the first. @param codes see TapsTable.codes */
export function madeCodes(codes: string | null): (MadeCodes & { first: number })[] {
  if (codes === null) return []
  const list: StoredCodes[] = JSON.parse(`[${codes.slice(0, -1)}]`)
  let made = 0
  return list.map(([by, until, ...subjects]) => {
    const first = made
    made += subjects.length
    return { by, until, subjects: subjects.map(subjectOf), first }
  })
}
