// What nodes were reported to say.

export interface Fees {
  tip: bigint
  needed: bigint
}

export const tooLittleGas = {
  geth: (has, needs) => `intrinsic gas too low: have ${has}, want ${needs}`,
  Arbitrum: () => 'intrinsic gas too low',
  zkSync: () =>
    'failed to validate the transaction. reason: Validation revert: Account validation error: Not enough gas for transaction validation',
  Besu: () => 'Intrinsic gas exceeds gas limit',
} satisfies Record<string, (has: bigint, needs: bigint) => string>

const inOneSentence = (sentences: readonly string[]): Record<string, () => string> =>
  Object.fromEntries(sentences.map((sentence) => [`"${sentence}"`, () => sentence]))

export const tooSmallTip = {
  bor: ({ tip, needed }) =>
    `transaction gas price below minimum: gas tip cap ${tip}, minimum needed ${needed}`,
  geth: ({ tip, needed }) => `transaction underpriced: gas tip cap ${tip}, minimum needed ${needed}`,
  'geth before 1.15': ({ tip, needed }) =>
    `transaction underpriced: tip needed ${needed}, tip permitted ${tip}`,
  ...inOneSentence([
    'max priority fee per gas too low',
    'FeeTooLow',
    'transaction underpriced',
    'tip too low',
    'gas price too low',
  ]),
} satisfies Record<string, (fees: Fees) => string>

export const tooManyBlocks = {
  Alchemy: {
    code: -32600,
    words: (range: number) =>
      `Under the Free tier plan, you can make eth_getLogs requests with up to a ${range} block range. Upgrade to PAYG for expanded block range.`,
  },
  QuickNode: { code: -32614, words: (range: number) => `eth_getLogs is limited to a ${range} range` },
  Infura: {
    code: -32602,
    words: (range: number) => `query exceeds max block range ${range}`,
  },
  'a limit of results': { code: -32005, words: () => 'query returned more than 10000 results' },
  never: { code: -32005, words: () => 'eth_getLogs is not available on your plan' },
}

export const alreadyThere = [
  'already known',
  'ALREADY_EXISTS: already known',
  'AlreadyKnown',
  'known transaction. transaction with hash 0x12 is already in the system',
  'tx already exists in cache',
  'tx already in mempool',
  'transaction with the same hash was already imported',
  'existing tx with same hash',
  'transaction already imported',
]

export const tooHighNonce = (nonce: number, next: number): string =>
  `nonce too high: address 0x12, tx: ${nonce} state: ${next}`

export const tooManyWords =
  'Batch of more than 3 requests are not allowed on free tier, to use this feature register paid account'
