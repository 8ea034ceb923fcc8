/** The header that names the batch of a request, sent by the CLI. */
export const batchHeader = 'tapchip-batch'

export const isBatchId = (text: string): boolean => /^b_[0-9a-z]{14}$/.test(text)

// Crockford's base 32 has no letters that are mistaken for others.
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

const digits = (value: number, count: number): string => {
  let text = ''
  for (let rest = value; text.length < count; rest = Math.floor(rest / 32))
    text = (alphabet[rest % 32] ?? '0') + text
  return text
}

/** IDs sort by creation time. @param now milliseconds since the epoch */
export const newBatchId = (now: number): string => {
  // All commands load this file, and node:crypto takes longer to load than the rest of it.
  const random = globalThis.crypto.getRandomValues(new Uint32Array(1))[0] ?? 0
  return `b_${digits(now, 9)}${digits(random % 32 ** 5, 5)}`
}

/** The states of a batch. */
export const batchStates = [
  /** Its rows are arriving. */
  'uploading',
  /** Its rows are here, and what they would do is known. */
  'planned',
  /** Waits for the approval of another person. */
  'proposed',
  /** Waits for its time. */
  'scheduled',
  'running',
  'paused',
  /** Every row has a result. */
  'done',
  /** It cannot continue by itself; its `error` says why. */
  'failed',
  'cancelled',
  'undone',
] as const
export type BatchState = (typeof batchStates)[number]

/** States in which nothing happens until somebody asks for it. */
const restingStates: ReadonlySet<BatchState> = new Set(['paused', 'done', 'failed', 'cancelled', 'undone'])
export const isResting = (state: BatchState): boolean => restingStates.has(state)

/** Each status of a row, and which of the four counts of a batch it belongs to. */
export const countOfStatus = {
  changed: 'changed',
  created: 'changed',
  assigned: 'changed',
  unassigned: 'changed',
  transferred: 'changed',
  minted: 'changed',
  /** Recorded for the chain; its hash is not known yet. */
  queued: 'changed',
  removed: 'changed',
  unchanged: 'unchanged',
  failed: 'failed',
  conflict: 'conflict',
} as const
export type RowStatus = keyof typeof countOfStatus

/** Letters, digits, `.`, `_`, `-`. */
export const batchNamePattern = /^[A-Za-z0-9._-]{1,64}$/

/** Browsers, proxies, and clients take a path that ends in a dot or two for another one. */
export const isBatchName = (text: string): boolean => batchNamePattern.test(text) && !/^\.\.?$/.test(text)

/**
 * Whether a row may run under a plan: rows planned to fail are not tried, and chips changed since the plan are left alone.
 * @param now what the row would do now @param isUnchanged whether it finds what the plan found
 */
export function byPlan(
  now: RowStatus,
  planned: RowStatus | undefined,
  isUnchanged: () => boolean,
): 'as now' | 'as planned' | 'conflict' {
  if (planned === undefined) return 'as now'
  if (planned === 'failed' || planned === 'conflict') return 'as planned'
  return now === 'failed' || (now === planned && isUnchanged()) ? 'as now' : 'conflict'
}
