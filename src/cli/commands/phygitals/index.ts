import { defineCommand } from '../../command/define.ts'
import { bothForms } from '../../uid.ts'
import { readToken, tokenFlags } from '../token.ts'
import { claimRegistration } from './claim-registration.ts'
import { metadata } from './metadata.ts'
import { transfer, transferSignature } from './transfer.ts'

const chip = defineCommand({
  name: 'chip',
  summary: 'Find the chip that is linked to a token',
  examples: ['phygitals chip --contract-address 0x5FbD…0aa3 --chain-id 31337 --token-id 7'],
  options: tokenFlags,
  run: async (ctx, { options }) => {
    const found = await ctx.call('GET /phygitals/chip', { query: readToken(options) })
    await ctx.io.one(found, ({ uid }) => ({ UID: bothForms(uid) }))
    ctx.io.hint(`See the chip: tapchip chips show ${found.uid}`)
  },
})

export const verbs = [transfer, transferSignature, metadata, claimRegistration, chip]
