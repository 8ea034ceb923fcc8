import { defineCommand } from '../../command/define.ts'
import { readerOption, withReaders } from '../../nfc/readers.ts'

const states = {
  empty: 'empty',
  present: 'present: it has a card',
  'in-use': 'in-use: another program holds the card',
  mute: 'mute: the card does not answer',
} as const

const slotForContacts = ' (slot for cards with contacts: used only with --reader)'

export const readers = defineCommand({
  name: 'readers',
  summary: 'List the readers and whether they have a card',
  examples: ['nfc readers', "nfc readers --json | jq -r '.[].name'"],
  options: { reader: readerOption },
  run: (ctx, { options }) =>
    withReaders(ctx, { reader: options.reader }, async ({ all, fields }) => {
      const isShown = options.reader === undefined ? () => true : await fields()
      const list = (await all.list()).filter(isShown)
      const contact = new Set(list.flatMap(({ name, isContact }) => (isContact ? [name] : [])))
      await ctx.io.list(
        list.map(({ name, state }) => ({ name, state })),
        {
          NAME: ({ name }) => name,
          STATE: ({ name, state }) => `${states[state]}${contact.has(name) ? slotForContacts : ''}`,
        },
        'There is no NFC reader. Plug one in, or try the virtual one: --reader emulator',
      )
    }),
})
