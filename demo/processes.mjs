import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { get as httpGet } from 'node:http'
import { createInterface } from 'node:readline'
import { command } from './words.mjs'

/** Starts the daemon, and waits for its ready line. */
export async function startDaemon(args) {
  const child = spawn(process.execPath, ['bin/tapchipd.js', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const line = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line').then(([text]) => text),
    exited.then(([code]) => Promise.reject(new Error(`The daemon ended with ${code} before it was ready`))),
  ])
  const { url, dataDir } = JSON.parse(line)
  const stop = async () => {
    child.kill('SIGTERM')
    await exited
  }
  return { url, dataDir, stop }
}

/** Runs a command, shows it with what it prints, and returns its standard output. */
export async function cli(args, env) {
  const child = spawn(process.execPath, ['bin/tapchip.js', ...args], {
    env: { ...process.env, ...env, NO_COLOR: '1' },
  })
  let stdout = ''
  let all = ''
  child.stdout.on('data', (chunk) => {
    stdout += chunk
    all += chunk
  })
  child.stderr.on('data', (chunk) => {
    all += chunk
  })
  const [code] = await once(child, 'close')
  command(args, all)
  if (code !== 0) throw new Error(`tapchip ${args.join(' ')} ended with ${code}`)
  return stdout
}

/** Opens a URL as a phone does, but follows no redirect. */
export async function get(url) {
  const [answer] = await once(httpGet(url), 'response')
  let body = ''
  for await (const chunk of answer) body += chunk
  return {
    status: answer.statusCode,
    location: answer.headers.location ?? '',
    heading: /<h1>([^<]*)/.exec(body)?.[1] ?? '',
  }
}
