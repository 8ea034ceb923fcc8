import { ownerTypedData } from '../../../values/owner-edit.ts'
import { defineCommand } from '../../command/define.ts'
import { flag, integer, text } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { bothForms } from '../../uid.ts'
import { readToken, tokenFlags } from '../token.ts'

const lifetimeSeconds = 3600

export const editSelf = defineCommand({
  name: 'edit-self',
  summary: "Set the redirect URL of a token's chips, with the signature of the token's owner",
  description:
    "Set the redirect URL of a token's chips, with the signature of the token's owner. First print what the owner signs " +
    '(EIP-712: wallets call it typed data), then send it with the signature and the same flags.',
  examples: [
    'chips edit-self --contract-address 0x5FbD…0aa3 --chain-id 31337 --token-id 7 --redirect-url https://alice.example/ --print-typed-data > request.json',
    'chips edit-self --contract-address 0x5FbD…0aa3 --chain-id 31337 --token-id 7 --redirect-url https://alice.example/ --expiry-time 1790000000 --signature 0x5b19…271b',
  ],
  options: {
    ...tokenFlags,
    redirectUrl: text('--redirect-url <url>', 'The URL that their taps open'),
    clear: flag('--clear', 'Clear the URL, so that taps show the tap page'),
    expiryTime: integer(
      '--expiry-time <seconds>',
      'When the request expires, in seconds since 1970 (default when printing: an hour from now)',
      [1, Number.MAX_SAFE_INTEGER],
    ),
    signature: text('--signature <hex>', "The owner's signature"),
    printTypedData: flag('--print-typed-data', 'Print what the owner has to sign, and send nothing'),
  },
  run: async (ctx, { options }) => {
    const { signature, printTypedData, expiryTime } = options
    if (printTypedData === (signature !== undefined))
      throw new UsageError('Use --print-typed-data to see what to sign, then --signature with the result.')
    const ref = readToken(options)
    const redirectUrl = readUrl(options)
    if (signature === undefined) {
      const until = expiryTime ?? Math.floor(ctx.now().getTime() / 1000) + lifetimeSeconds
      return print(ctx, ownerTypedData({ ...ref, redirectUrl, requestExpiryTime: until }))
    }
    if (expiryTime === undefined)
      throw new UsageError('--expiry-time is missing.', 'It is the requestExpiryTime that the owner signed.')
    const body = {
      ...ref,
      updates: { redirectUrl },
      requestExpiryTime: expiryTime,
      ownerSignature: signature,
    }
    const edited = await ctx.call('PATCH /chips/self-service', { body })
    await ctx.io.one(edited, ({ updatedTags }) => ({
      'Redirect URL': redirectUrl,
      Chips: updatedTags.map(bothForms),
    }))
    ctx.io.hint('See where their next taps go: tapchip chips show UID')
  },
})

const readUrl = ({ redirectUrl, clear }: { redirectUrl: string | undefined; clear: boolean }): string => {
  if (clear === (redirectUrl !== undefined)) throw new UsageError('Specify where: --redirect-url or --clear.')
  return redirectUrl ?? ''
}

const print = async (ctx: CliContext, data: ReturnType<typeof ownerTypedData>): Promise<void> => {
  // The format of eth_signTypedData_v4 (wallets, cast): large numbers are strings.
  const asText = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)
  await ctx.io.raw(`${JSON.stringify(data, asText, ctx.io.json ? undefined : 2)}\n`)
  ctx.io.hint(
    `Have the owner sign it: cast wallet sign --data --from-file request.json. Then run the same command with --expiry-time ${data.message.requestExpiryTime} --signature 0x… in place of --print-typed-data`,
  )
}
