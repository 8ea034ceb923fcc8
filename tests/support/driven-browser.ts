import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { browserArguments, browserBinary } from './browser.ts'

interface Reply {
  readonly id?: number
  readonly result?: Record<string, unknown>
  readonly error?: { readonly message: string }
}

/** A browser that does what a person would, by the DevTools protocol over pipes. One page, as on a phone. */
export async function openBrowser() {
  const profile = mkdtempSync(join(tmpdir(), 'tapchip-browser-'))
  const child = spawn(
    browserBinary(),
    [...browserArguments(profile), '--remote-debugging-pipe', 'about:blank'],
    {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
      detached: true,
    },
  )
  const [, , , commands, replies] = child.stdio as unknown as [null, null, null, Writable, Readable]
  const waiting = new Map<
    number,
    { resolve: (value: Record<string, unknown>) => void; reject: (e: Error) => void }
  >()
  const exited = once(child, 'exit').then(() => {
    for (const { reject } of waiting.values()) reject(new Error('the browser has ended'))
  })
  let rest = ''
  replies.setEncoding('utf8').on('data', (piece: string) => {
    const messages = (rest + piece).split('\0')
    rest = messages.pop() ?? ''
    for (const message of messages) {
      const { id = 0, result = {}, error }: Reply = JSON.parse(message)
      const caller = waiting.get(id)
      waiting.delete(id)
      if (error) caller?.reject(new Error(error.message))
      else caller?.resolve(result)
    }
  })
  let count = 0
  let sessionId: unknown
  const send = (method: string, params: object = {}): Promise<Record<string, unknown>> =>
    new Promise((resolve, reject) => {
      waiting.set(++count, { resolve, reject })
      commands.write(
        `${JSON.stringify({ id: count, method, params, ...(sessionId ? { sessionId } : {}) })}\0`,
      )
    })

  const { targetInfos } = await send('Target.getTargets')
  const page = (targetInfos as { type: string; targetId: string }[]).find(({ type }) => type === 'page')
  sessionId = (await send('Target.attachToTarget', { targetId: page?.targetId, flatten: true })).sessionId
  await send('Page.enable')

  /** @param script an expression; a promise is waited for */
  const evaluate = async (script: string): Promise<unknown> => {
    const { result, exceptionDetails } = await send('Runtime.evaluate', {
      expression: script,
      awaitPromise: true,
      returnByValue: true,
    })
    if (exceptionDetails) throw new Error(`the page: ${JSON.stringify(exceptionDetails)}`)
    return (result as { value?: unknown }).value
  }

  return {
    evaluate,
    goto: (url: string) => send('Page.navigate', { url }),
    /** Emulates a phone. @returns a PNG of the whole page */
    async screenshot({ width = 360, scheme = 'light' }: { width?: number; scheme?: 'light' | 'dark' } = {}) {
      await send('Emulation.setDeviceMetricsOverride', {
        width,
        height: 780,
        deviceScaleFactor: 2,
        mobile: true,
      })
      await send('Emulation.setEmulatedMedia', {
        features: [{ name: 'prefers-color-scheme', value: scheme }],
      })
      const { data } = await send('Page.captureScreenshot', { captureBeyondViewport: true })
      return Buffer.from(String(data), 'base64')
    },
    async close() {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
      } catch {
        // It has ended.
      }
      await exited
      rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
    },
  }
}
