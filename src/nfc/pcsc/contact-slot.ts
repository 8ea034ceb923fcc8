// Readers with a second slot, for cards with contacts, appear as two readers, of which only one has a field.

/** Judged by its name, and the names beside it. The makers' names say ICC, SAM, or Contact, or leave out the CL. */
export function isContactSlot(name: string, names: readonly string[]): boolean {
  if (/\b(SAM|ICC|contact)\b/i.test(name)) return true
  const isContactless = (one: string, model: string) => new RegExp(`\\b${model}CL\\b`, 'i').test(one)
  return [...name.matchAll(/\b\d{4}\b/g)].some(
    ([model]) => !isContactless(name, model) && names.some((other) => isContactless(other, model)),
  )
}

/** A reader makes the ATR of a card in its field by itself. Source: PC/SC part 3, s3.1.3.2.3 */
export const isContactCard = (atr: Uint8Array): boolean =>
  atr.length > 0 &&
  !(atr[0] === 0x3b && ((atr[1] ?? 0) & 0xf0) === 0x80 && atr[2] === 0x80 && atr[3] === 0x01)
