import { text } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'

export const recipientFlag = {
  recipient: text('--recipient <address|name>', 'Who gets it: an address, or an ENS name'),
}

export const readRecipient = (ctx: CliContext, given: string | undefined): Promise<string> =>
  ctx.prompts.text(given, { flag: '--recipient', message: 'Recipient: an address, or an ENS name' })
