/** Why a text is refused, said so that it can follow a field's name; undefined: it is good. */
export type Check = (text: string) => string | undefined

export const addressForm = /^0x[0-9a-fA-F]{40}$/
export const notAnAddress = 'must be an address: 0x and 40 hex digits'
const checkAddress: Check = (text) => (addressForm.test(text) ? undefined : notAnAddress)

const checkChainId: Check = (text) =>
  /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text))
    ? undefined
    : 'must be a whole number from 1'

export const checkTokenId: Check = (text) =>
  /^\d{1,78}$/.test(text) && BigInt(text) < 2n ** 256n ? undefined : 'must be a decimal token id below 2^256'

/** One form a number, however many zeros it was given with. @param text that checkTokenId takes */
export const asTokenId = (text: string): string => BigInt(text).toString()

/** What names a token, all three together. */
export const tokenChecks = {
  contractAddress: checkAddress,
  chainId: checkChainId,
  tokenId: checkTokenId,
} as const satisfies Readonly<Record<string, Check>>
