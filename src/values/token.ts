/** Returns the reason for a rejection, which can follow a field's name. */
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

/** Removes leading zeros. @param text a valid token id */
export const canonicalTokenId = (text: string): string => BigInt(text).toString()

/** The fields that a token's metadata always has. */
export const emptyMetadata = {
  name: '',
  collection: '',
  description: '',
  image: '',
  attributes: [],
  media_gallery: [],
}

/** A token is identified by all three. */
export const tokenChecks = {
  contractAddress: checkAddress,
  chainId: checkChainId,
  tokenId: checkTokenId,
} as const satisfies Readonly<Record<string, Check>>
