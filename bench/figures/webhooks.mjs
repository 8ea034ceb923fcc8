import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { csvOfChips, range, uidHex } from '../lib/chips.mjs'
import { call, importChips, startDaemon } from '../lib/daemon.mjs'
import { startHelper } from '../lib/processes.mjs'
import { tried } from '../lib/within.mjs'
import { freshTaps, stretch } from './http.mjs'

const partSeconds = 60
const chips = 20_000

/** What a webhook for valid taps costs them: rounds with and without one, in turn, on one daemon. */
export async function measureWebhooks({ cores, dir, announce, rounds, window: seconds, tapMaker }) {
  let received = 0
  const receiver = createServer((request, response) => {
    received += 1
    request.resume().on('end', () => response.writeHead(204).end())
  })
  await new Promise((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const daemon = await startDaemon(cores.server, dir('webhooks'), {
    flags: [],
    env: { TAPCHIP_WEBHOOKS_PRIVATE: 'on' },
  })
  const load = startHelper(cores.load, fileURLToPath(new URL('../lib/load.mjs', import.meta.url)))
  await importChips(daemon, 'Stock', csvOfChips(0, chips), chips)
  const find = (index, counter) => `/chips/find?${tapMaker.query(uidHex(index), counter)}`
  const run = { server: daemon.pid, port: daemon.port, ...freshTaps(range(0, chips), find) }
  const [row] = announce({
    name: 'valid tap with a webhook',
    bar: 0.9,
    peer: 'without',
    unit: '/s',
    values: [],
    peers: [],
    ratios: [],
    share: [],
    perCpu: [],
    notes: [],
  })
  const idle = async () => {
    const query = '/admin/webhook-deliveries?state=waiting&limit=1'
    while (JSON.parse((await call(daemon, 'GET', query)).text()).length > 0) await sleep(50)
  }
  await stretch(load, run, Math.max(1, seconds))
  let meanwhile = 0
  for (let round = 0; round < rounds; round++)
    await tried([row], partSeconds, async () => {
      const without = await stretch(load, run, seconds)
      const url = `http://127.0.0.1:${receiver.address().port}/`
      const made = await call(daemon, 'POST', '/admin/webhooks', {
        body: JSON.stringify({ url, events: ['tap.valid'] }),
      })
      const before = received
      const mine = await stretch(load, run, seconds)
      meanwhile += received - before
      await idle()
      await call(daemon, 'DELETE', `/admin/webhooks/${JSON.parse(made.text()).id}`)
      row.values.push(mine.rate)
      row.peers.push(without.rate)
      row.ratios.push(mine.rate / without.rate)
      if (mine.share !== undefined) row.share.push(mine.share)
    })
  row.notes.push(`${received} of the taps were told, ${meanwhile} of them while taps came`, ...run.problems)
  await load.end()
  receiver.close()
  await daemon.stop()
}
