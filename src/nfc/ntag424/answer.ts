import { AnswerFormatError, ChipStatusError } from './errors.ts'

/** What a chip answers when a command is done, and when it wants the next part of one. */
export const DONE = 0x9100
export const ADDITIONAL_FRAME = 0x91af

/**
 * What stands before the status of an answer. @param length how many bytes that has to be, when it is known
 * @throws ChipStatusError when the status is another, AnswerFormatError
 */
export function answerData(answer: Uint8Array, status = DONE, length?: number): Uint8Array {
  const expected = length === undefined ? '2 or more' : `${length + 2}`
  if (answer.length < 2) throw new AnswerFormatError(expected, answer.length)
  const end = answer.length - 2
  const actual = ((answer[end] ?? 0) << 8) | (answer[end + 1] ?? 0)
  if (actual !== status) throw new ChipStatusError(actual)
  if (length !== undefined && end !== length) throw new AnswerFormatError(expected, answer.length)
  return answer.subarray(0, end)
}
