/** SDMReadCtr of an NTAG 424 has three bytes. */
export const highestCounter = 0xffffff
/** A HaLo chip's counter has four. */
const highestHaloCounter = 0xffffffff

/** Why a tap counter is refused, said so that it can follow a field's name; undefined: it is good. */
export function checkCounter(text: string, isHalo: boolean): string | undefined {
  if (!/^\d{1,10}$/.test(text)) return 'must be a whole number from 0'
  const highest = isHalo ? highestHaloCounter : highestCounter
  return Number(text) > highest ? `must be at most ${highest}` : undefined
}
