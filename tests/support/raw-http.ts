import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { onTestFinished } from 'vitest'
import { loadConfig } from '../../src/daemon/config/config.ts'
import { type Options, openTestApp, type TestApp } from './daemon.ts'
import { seed } from './seeds.ts'

/** The application on the sample data, closed when the test ends. */
export async function openForTest(options: Options = {}): Promise<TestApp> {
  const t = await openTestApp({ seed, ...options })
  onTestFinished(() => t.close())
  return t
}

/** @returns the port of loopback on which the application listens from now on */
export async function listening(t: TestApp): Promise<number> {
  await t.app.listen({ host: '127.0.0.1', port: 0 })
  return (t.app.server.address() as AddressInfo).port
}

export const configOf = (env: Record<string, string>) =>
  loadConfig({ help: false, version: false, configFile: undefined, values: {} }, env)

export const withKey = (key: string) => ({ 'x-svc-api-key': key })

/** A connection that sends `text`; `heard` is all that came back once it has ended. */
export async function dial(port: number, text = '', localAddress = '127.0.0.1') {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  onTestFinished(() => void socket.destroy())
  let all = ''
  socket.on('data', (chunk) => {
    all += chunk.toString()
  })
  // A connection that is cut off in the middle of a write may report an error.
  socket.on('error', () => undefined)
  const heard = new Promise<string>((resolve) => socket.on('close', () => resolve(all)))
  await once(socket, 'connect')
  socket.write(text)
  return { socket, heard, soFar: () => all }
}

/** The head of a request, with its empty line. */
export const head = (line: string, headers: Record<string, string | number>) =>
  `${line} HTTP/1.1\r\nHost: localhost\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`

/** Counts the requests of a path that come in from now on. */
export function countOf(t: TestApp, path: string): () => number {
  let count = 0
  t.app.server.on('request', ({ url }) => {
    if (url?.startsWith(path)) count += 1
  })
  return () => count
}
