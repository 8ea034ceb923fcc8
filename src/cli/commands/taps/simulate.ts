import { defineCommand } from '../../command/define.ts'
import { integer, text } from '../../command/options.ts'
import { chipOnWire } from '../chip-handle.ts'

export const simulate = defineCommand({
  name: 'simulate',
  summary: 'Create the URLs that a chip would show next',
  description:
    "Create the URLs that a chip would show at its next taps. This advances the chip's counter, so it works on the " +
    'chips of an --ephemeral daemon and on chips imported as simulated, nowhere else.',
  examples: [
    'taps simulate --uid 04:DE:5F:1E:AC:C0:40',
    'taps simulate --uid 04DE5F1EACC040 --count 3 --json',
  ],
  options: {
    uid: text('--uid <uid>', 'The chip: its UID in decimal or hex, or its label'),
    count: integer('--count <n>', 'How many taps (default: 1)', [1, 10_000]),
  },
  run: async (ctx, { options }) => {
    const uid = await chipOnWire(
      ctx,
      await ctx.prompts.text(options.uid, { flag: '--uid', message: 'UID of the chip' }),
      '--uid',
    )
    const taps = await ctx.call('POST /admin/chips/:uid/simulate', {
      params: { uid },
      body: { count: options.count ?? 1 },
    })
    for (const tap of taps) await ctx.io.line(tap, () => tap.url)
    ctx.io.hint("Open it in a browser, or verify the tap here: tapchip chips find 'URL'. It works once.")
  },
})
