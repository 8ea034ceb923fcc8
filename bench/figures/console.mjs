import { Agent, get, request } from 'node:http'
import { createRequire } from 'node:module'
import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { csvOfChips, range, uidHex } from '../lib/chips.mjs'
import { adminToken, cliScript, importChips, startDaemon } from '../lib/daemon.mjs'
import { stayOn, watchCpu } from '../lib/machine.mjs'
import { end, startCommand } from '../lib/processes.mjs'
import { percentiles } from '../lib/stats.mjs'
import { tried } from '../lib/within.mjs'
import { freshTaps } from './http.mjs'

const chips = 5000
const tapsASecond = 200
const consoles = 10
/** What a page of Now asks for beside its stream while taps come, and how often. */
const [pulse, pulseEveryMs] = ['/api/admin/taps/pulse', 5000]
const partSeconds = 120
const { chromium } = createRequire(new URL('../../tests/package.json', import.meta.url))('playwright-core')

const absolute = (name, unit, bar, peer) => ({
  ...{ name, unit, bar, isAbsolute: true, values: [], peers: [], ratios: [], notes: [] },
  ...(peer === undefined ? {} : { peer }),
})

/** The console in Chromium under taps, the first view of it, and what open consoles cost a tap. */
export async function measureConsole({ cores, dir, announce, rounds, window: seconds, tapMaker }) {
  const daemon = await startDaemon(cores.server, dir('console'))
  await importChips(daemon, 'Watched', csvOfChips(0, chips), chips)
  const find = (index, counter) => `/chips/find?${tapMaker.query(uidHex(index), counter)}`
  const fresh = freshTaps(range(0, chips), find)
  // Making their URLs takes seconds, in which nothing is measured.
  fresh.paths(seconds)
  // By the time that the thread ran, which others on the machine do not stretch.
  const task = absolute('longest task of a page that shows 200 taps a second, CPU', 'ms', 50, 'no taps')
  const frame = absolute('longest frame of that page', 'ms', 50, 'no taps')
  const ready = absolute('console, to its first screen', 'ms', 1000)
  const size = absolute('console, first view gzipped', 'kB', 150)
  const tap = absolute('p99 of 200 taps a second beside ten open consoles', 'ms', 25, 'none')
  announce(task, frame, ready, size, tap)
  const env = { TAPCHIP_URL: daemon.url, TAPCHIP_ADMIN_TOKEN: adminToken, HOME: dir('console-home') }
  // The browser has both cores, as on a machine where somebody looks at a daemon of their own.
  stayOn([cores.server, cores.load])
  await tried([task, frame, ready, size], partSeconds, async () => {
    const page = await openPage(env)
    try {
      for (let round = 0; round < rounds; round++) {
        await page.firstView(ready, size)
        const idle = await page.watched(() => sleep(seconds * 1000))
        let sent
        const busy = await page.watched(async () => {
          sent = await tapEvenly(daemon, fresh, seconds)
        })
        put(task, busy.cpu, idle.cpu)
        put(frame, busy.frame, idle.frame)
        task.notes.push(
          `${sent.rate.toFixed(0)} taps a second, ${await page.lastMinute()} shown; tasks over 50 ms by the clock ${busy.long} of ${busy.tasks}, without taps ${idle.long}; frames over 50 ms ${busy.late} of ${busy.frames}, without taps ${idle.late} of ${idle.frames}; load ${loadavg()[0].toFixed(1)}`,
        )
      }
    } finally {
      await page.close()
    }
  })
  await tried([tap], partSeconds, async () => {
    const p99 = async () => {
      const cpu = watchCpu(daemon.pid)
      const { waits } = await tapEvenly(daemon, fresh, seconds)
      return { ms: percentiles(waits)[1], cpuMs: ((cpu() ?? 0) * seconds * 1000) / waits.length }
    }
    await p99()
    for (let round = 0; round < rounds; round++) {
      const alone = await p99()
      const open = await Promise.all(range(0, consoles).map(() => openStream(env)))
      await sleep(2000)
      const beside = await p99()
      const told = open.map((one) => one.close())
      put(tap, beside.ms, alone.ms)
      tap.notes.push(
        `${beside.cpuMs.toFixed(2)} ms CPU a tap, without consoles ${alone.cpuMs.toFixed(2)}; ${Math.min(...told)} lines told to each; load ${loadavg()[0].toFixed(1)}`,
      )
    }
  })
  stayOn([cores.load])
  await daemon.stop()
}

function put(row, value, peer) {
  row.values.push(value)
  row.peers.push(peer)
  row.ratios.push(value / peer)
}

async function startConsole(env) {
  const args = [cliScript, 'console', '--port', '0', '--no-open', '--json']
  const { child, lines } = startCommand(args, env)
  const [line] = await new Promise((resolve) => lines.once('line', (text) => resolve([text])))
  return { child, link: JSON.parse(line).url }
}

/** Valid taps, as evenly as timers are. @returns how long each waited, in milliseconds, and how many came a second */
async function tapEvenly({ port }, fresh, seconds) {
  const paths = fresh.paths(seconds).slice(0, tapsASecond * seconds)
  const agent = new Agent({ keepAlive: true, maxSockets: 16 })
  const tap = (path) =>
    new Promise((resolve, reject) => {
      const began = performance.now()
      get({ host: '127.0.0.1', port, path, agent }, (answer) => {
        let text = ''
        answer.on('data', (chunk) => {
          text += chunk
        })
        answer.on('end', () =>
          text.includes(fresh.expect) ? resolve(performance.now() - began) : reject(new Error(text)),
        )
      }).on('error', reject)
    })
  const began = performance.now()
  const answers = []
  for (let sent = 0; sent < paths.length; await sleep(5)) {
    const due = Math.min(paths.length, Math.ceil(((performance.now() - began) / 1000) * tapsASecond))
    for (; sent < due; sent++) answers.push(tap(paths[sent]))
  }
  const waits = await Promise.all(answers)
  fresh.used(paths.length)
  agent.destroy()
  return { waits, rate: paths.length / ((performance.now() - began) / 1000) }
}

/** Chromium with the console. */
async function openPage(env) {
  const { child, link } = await startConsole(env)
  const browser = await chromium.launch({
    executablePath: process.env.TAPCHIP_TEST_BROWSER ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-dev-shm-usage'],
  })
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: 'en-GB' })
  let page = await context.newPage()
  await page.goto(link)
  await page.locator('main[data-screen=now]').waitFor()
  return {
    async firstView(ready, size) {
      await page.close()
      page = await context.newPage()
      const network = await context.newCDPSession(page)
      await network.send('Network.enable')
      await network.send('Network.setCacheDisabled', { cacheDisabled: true })
      let bytes = 0
      network.on('Network.loadingFinished', ({ encodedDataLength }) => {
        bytes += encodedDataLength
      })
      const began = performance.now()
      await page.goto(`${new URL(link).origin}/now`)
      // With what the daemon answered.
      await page.locator('main[data-screen=now] .now-aside > *').first().waitFor()
      ready.values.push(performance.now() - began)
      size.values.push(bytes / 1000)
      await network.detach()
    },
    /** The tasks of the page's main thread, and its frames, while something happens. */
    async watched(work) {
      await page.evaluate(`(() => {
        let last = performance.now()
        const seen = (window.seenFrames = { longest: 0, late: 0, frames: 0, isOver: false })
        const step = () => {
          const now = performance.now()
          seen.longest = Math.max(seen.longest, now - last)
          if (now - last > 50) seen.late += 1
          seen.frames += 1
          last = now
          if (!seen.isOver) requestAnimationFrame(step)
        }
        requestAnimationFrame(step)
      })()`)
      await browser.startTracing(page, { categories: ['disabled-by-default-devtools.timeline', 'toplevel'] })
      await work()
      const frames = await page.evaluate('((seenFrames.isOver = true), seenFrames)')
      const { traceEvents } = JSON.parse((await browser.stopTracing()).toString())
      return { ...tasksIn(traceEvents), ...frames, frame: frames.longest }
    },
    lastMinute: () => page.locator('.now-summary dd').first().innerText(),
    async close() {
      await browser.close()
      await end(child)
    },
  }
}

/** Of the main thread of the page, in milliseconds. */
function tasksIn(events) {
  const tasks = events.filter(({ name, dur }) => /RunTask$/.test(name) && dur !== undefined)
  const main = new Set(
    events
      .filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  )
  const own = tasks.filter(({ pid, tid }) => main.has(`${pid} ${tid}`))
  const durations = own.map(({ dur }) => dur / 1000)
  return {
    tasks: own.length,
    long: durations.filter((ms) => ms > 50).length,
    cpu: Math.max(0, ...own.map(({ tdur = 0 }) => tdur / 1000)),
  }
}

/** A console that asks as an open page does, without what drawing it costs this machine. */
async function openStream(env) {
  const { child, link } = await startConsole(env)
  const { origin } = new URL(link)
  const entered = await new Promise((resolve, reject) => get(link, resolve).on('error', reject))
  const headers = {
    cookie: String(entered.headers['set-cookie']).split(';')[0],
    'x-console-session': /#session=(.+)$/.exec(entered.headers.location)?.[1],
  }
  entered.resume()
  let lines = 0
  const stream = request(`${origin}/stream?after=0`, { headers }, (answer) =>
    answer
      .on('error', () => undefined)
      .on('data', (bytes) => {
        lines += bytes.toString().split('\n').length - 1
      }),
  )
  stream.on('error', () => undefined).end()
  const ask = () =>
    get(`${origin}${pulse}`, { headers }, (answer) => answer.resume()).on('error', () => undefined)
  ask()
  const timer = setInterval(ask, pulseEveryMs)
  return {
    close() {
      clearInterval(timer)
      stream.destroy()
      void end(child)
      return lines
    },
  }
}
