import { type Address, getAddress, type Hex, isHex } from 'viem'

/** Hex as the store holds it: text. @throws Error where it is something else, which only damage explains */
export function storedHex(text: string | null): Hex {
  if (text === null || !isHex(text)) throw new Error('The store holds no hex where hex belongs')
  return text
}

export const storedAddress = (text: string | null): Address | null =>
  text === null ? null : getAddress(text)
