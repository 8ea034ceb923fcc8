import { runSheet } from '../../batch/engine.ts'
import { batchFlags } from '../../batch/input/flags.ts'
import { transfer as transferKind } from '../../batch/kinds/transfer.ts'
import { defineCommand } from '../../command/define.ts'
import { text, yes } from '../../command/options.ts'
import { exitCodes, UsageError } from '../../errors.ts'
import { codeFlag, idempotencyFlag } from '../sending.ts'
import { tokenFlags } from '../token-flags.ts'
import { recipientFlag } from './recipient.ts'
import { transferByFlags } from './transfer-by-flags.ts'

export const transfer = defineCommand({
  name: 'transfer',
  summary: 'Transfer a token, or mint it to whoever is to have it first',
  description:
    "Transfer a token on the team's authority: one that is named, or that of a chip, which is minted if the chip has none yet. " +
    'With the code of a tap, what the code is for. Many from a file with the columns uid or contractAddress, chainId and ' +
    'tokenId, and recipient: the whole file is checked before the first is sent, and so is whether the relayer can pay.',
  examples: [
    'phygitals transfer --contract-address 0x5FbD…0aa3 --chain-id 31337 --token-id 7 --recipient alice.eth',
    'phygitals transfer --uid 04:DE:5F:1E:AC:C0:40 --recipient 0xde70…fb77',
    'phygitals transfer --code V1StGXR8_Z5jdHi6B-myT --recipient alice.eth',
    'phygitals transfer --file transfers.csv --dry-run',
    'phygitals transfer --file transfers.csv --failed again.csv',
  ],
  options: {
    ...tokenFlags,
    uid: text('--uid <uid>', 'The chip whose token it is, in decimal or hex'),
    ...codeFlag,
    ...recipientFlag,
    ...idempotencyFlag,
    ...batchFlags,
    yes,
  },
  run: async (ctx, { options }) => {
    const { file, uid, contractAddress, chainId, tokenId, code, recipient, idempotencyKey } = options
    if (file === undefined) {
      await transferByFlags(ctx, options)
      return exitCodes.done
    }
    if (
      [uid, contractAddress, chainId, tokenId, code, recipient, idempotencyKey].some(
        (flag) => flag !== undefined,
      )
    )
      throw new UsageError('--file says which tokens and to whom: leave out the flags that say it as well.')
    return runSheet(ctx, transferKind, file, options)
  },
})
