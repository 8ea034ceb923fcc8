import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { defineCommand } from '../command/define.ts'
import { flag, integer, team } from '../command/options.ts'
import type { CliContext } from '../context.ts'
import { CliError } from '../errors.ts'

const defaultPort = 8488

export const verb = defineCommand({
  name: 'console',
  summary: 'Open a page to watch and steer the daemon in a browser',
  description:
    'Serve a page on this machine that shows taps as they happen, chips, batches, and the state of the daemon, for as long ' +
    'as this command runs. Its requests go to the daemon with the key of the context, which never reaches the browser, ' +
    'and what the key may not do is not shown. The link works once; press Enter for another one. Ctrl-C ends it.',
  examples: ['console', 'console --context production', 'console --port 9001 --no-open'],
  options: {
    port: integer(
      '--port <port>',
      `Where to listen on 127.0.0.1; 0 picks a free one (default: ${defaultPort} if it is free)`,
      [0, 65_535],
    ),
    open: flag('--no-open', 'Only print the link'),
    team,
  },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    await ctx.beforeChange('Would serve the console')
    const [{ ConsoleServer }, { readPage }, { createClient }, browser, doctor] = await Promise.all([
      import('../console/server.ts'),
      import('../console/assets.ts'),
      import('../client/client.ts'),
      import('../console/browser.ts'),
      import('./doctor.ts'),
    ])
    const config = ctx.config()
    const page = readPage(join(dirname(ctx.system.daemonScript()), '..', 'dist'))
    // Not the client of commands, which asks on the terminal before it changes something: the page asks.
    const client = createClient(config)
    const diagnose = () => doctor.checkQuickly(ctx)
    const server = new ConsoleServer({ client, config, page, team: options.team, now: ctx.now, diagnose })
    const cleanUp: (() => void)[] = []
    try {
      await listen(ctx, server, options.port)
      const ended = new Promise<void>((resolve) =>
        cleanUp.push(ctx.system.interrupts.listen(() => resolve())),
      )
      const link = server.newLink()
      const ready = { event: 'ready', url: link }
      await ctx.io.line(ready, () => `The console is at ${link}`)
      await ctx.io.flush()
      if (options.open && !ctx.flags.json) {
        if (browser.hasDesktop(ctx.system)) cleanUp.push(browser.openInBrowser(ctx.system, link))
        else ctx.io.note(withoutDesktop(new URL(link).port))
      }
      if (ctx.prompts.possible) cleanUp.push(offerLinks(ctx, () => server.newLink()))
      await ended
    } finally {
      for (const clean of cleanUp) clean()
      await server.close()
      client.close()
    }
  },
})

/** The usual port, so that the addresses of screens fit a colleague's console; a free one if it is taken. */
async function listen(
  ctx: CliContext,
  server: { listen(port: number): Promise<void> },
  port: number | undefined,
): Promise<void> {
  if (port !== undefined) return server.listen(port)
  try {
    await server.listen(defaultPort)
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    ctx.io.note(`Port ${defaultPort} is in use, so this console has another one. To choose it: --port N`)
    await server.listen(0)
  }
}

/** A forwarded port has to be the same one, since the link's host is checked. */
const withoutDesktop = (port: string): string =>
  'No browser is opened here. In one on another machine, the link works once this runs there: ' +
  `ssh -N -L ${port}:127.0.0.1:${port} THIS-MACHINE`

/** Enter prints a new link. @returns stops reading */
function offerLinks(ctx: CliContext, newLink: () => string): () => void {
  ctx.io.note('The link works once. Press Enter for another one, Ctrl-C to end the console.')
  const lines = createInterface({ input: ctx.system.stdin })
  lines.on('line', () => ctx.io.note(newLink()))
  return () => lines.close()
}
