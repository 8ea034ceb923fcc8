import { createRequire } from 'node:module'
import { end, startLine } from './processes.mjs'

/** Starts anvil on a free port of loopback. */
export async function startAnvil(args) {
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch
  const binary = createRequire(import.meta.url).resolve(
    `@foundry-rs/anvil-${process.platform}-${architecture}/bin/anvil${process.platform === 'win32' ? '.exe' : ''}`,
  )
  const all = ['--host', '127.0.0.1', '--port', '0', ...args]
  const { child, line } = await startLine(binary, all, /^Listening on 127\.0\.0\.1:\d+$/)
  return { url: `http://127.0.0.1:${line.split(':').at(-1)}`, stop: () => end(child) }
}
