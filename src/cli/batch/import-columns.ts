import { checkRedirectUrl } from './redirect-url.ts'

type Check = (text: string) => string | undefined

const matching =
  (pattern: RegExp, why: string): Check =>
  (text) =>
    pattern.test(text) ? undefined : why
const atMost =
  (max: number): Check =>
  (text) =>
    text.length <= max ? undefined : `is longer than ${max} characters`

/** The columns of an import but for `uid`, and what shows without the daemon that a cell does not fit. */
export const importColumns: Readonly<Record<string, Check>> = {
  label: atMost(200),
  redirectUrl: checkRedirectUrl,
  item: atMost(64),
  variant: atMost(64),
  contractAddress: matching(/^0x[0-9a-fA-F]{40}$/, 'must be an address: 0x and 40 hex digits'),
  chainId: matching(/^[1-9]\d{0,14}$/, 'must be a chain id: a whole number'),
  tokenId: matching(/^\d{1,78}$/, 'must be a token id: a whole number'),
  lastCounter: (text) =>
    /^\d{1,10}$/.test(text) && Number(text) <= 0xffffffff ? undefined : 'must be a counter: a whole number',
  fileReadKey: matching(/^[0-9a-fA-F]{32}$/, 'must be an AES-128 key: 32 hex digits'),
  publicKey: matching(
    /^(04[0-9a-fA-F]{128}|0[23][0-9a-fA-F]{64})$/,
    'must be a public key: 04 and 128 hex digits',
  ),
}

/** Cells that must not be repeated in a message. */
export const secretColumns: ReadonlySet<string> = new Set(['fileReadKey'])
