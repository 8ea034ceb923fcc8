import { createServer } from 'node:http'

/** Stands before a node, and refuses batches of more than `max` calls as one error, as public nodes do. */
export async function openBatchProxy(url, max) {
  const server = createServer((request, response) => {
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => void answer(Buffer.concat(chunks), response).catch(() => response.destroy()))
  })
  const answer = async (body, response) => {
    response.setHeader('content-type', 'application/json')
    const calls = JSON.parse(body)
    if (Array.isArray(calls) && calls.length > max) {
      const error = { code: -32600, message: `Batch of more than ${max} requests are not allowed` }
      response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error }))
      return
    }
    const headers = { 'content-type': 'application/json' }
    const honest = await fetch(url, { method: 'POST', headers, body })
    response.end(Buffer.from(await honest.arrayBuffer()))
  }
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
