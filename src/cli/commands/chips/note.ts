import { defineCommand } from '../../command/define.ts'
import { integer, optionalArgument, team } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import { chipParams, uidArgument } from './chip.ts'

export const note = defineCommand({
  name: 'note',
  summary: "Add a note to a chip's story, list its notes, or remove one",
  description:
    "Add a note to a chip's story: a repair, a new part, an exhibition. Everyone who taps the chip reads it, and everyone with " +
    "the address of its public page; they see the text and the day, and not who wrote it. Without a text, list the chip's notes.",
  examples: [
    "chips note 04:98:93:CA:AA:11:90 'Repaired in Oslo'",
    'chips note FJ-0001 --team Acme',
    'chips note FJ-0001 --remove 7',
  ],
  args: { ...uidArgument, text: optionalArgument('text', 'The note, of up to 500 characters') },
  options: { remove: integer('--remove <id>', 'Remove this note', [1, Number.MAX_SAFE_INTEGER]), team },
  run: async (ctx, { args: { uid, text }, options: { remove } }) => {
    if (remove !== undefined && text !== undefined) throw new UsageError('Give a text or --remove, not both.')
    const params = await chipParams(ctx, uid)
    if (remove !== undefined) {
      const answer = await ctx.call('DELETE /admin/chips/:uid/notes/:id', {
        params: { ...params, id: remove },
      })
      return ctx.io.one(answer, () => ({ Removed: `note ${remove}` }))
    }
    if (text === undefined) {
      const notes = await ctx.call('GET /admin/chips/:uid/notes', { params })
      return ctx.io.list(
        notes,
        { ID: ({ id }) => id, AT: ({ at }) => at, BY: ({ by }) => by, TEXT: ({ text }) => text },
        "No notes. Add one: tapchip chips note UID 'Repaired in Oslo'",
      )
    }
    ctx.needAdmin()
    const made = await ctx.call('POST /admin/chips/:uid/notes', { params, body: { text } })
    await ctx.io.one(made, ({ id, at, by, text }) => ({ Id: id, At: at, By: by, Text: text }))
  },
})
