import { type CcipRequestParameters, type Hex, isHex } from 'viem'

/** One HTTP call to a gateway, whose address a contract names: the caller sees to it that it cannot be misused. */
export type FetchGateway = (request: {
  url: string
  method: 'GET' | 'POST'
  headers: Record<string, string>
  body?: string
  timeoutMs?: number
}) => Promise<{
  status: number
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: Buffer
}>

/** No gateway of a list gave an answer. The message has each one's reason. */
export class GatewaysFailed extends Error {
  override readonly name = 'GatewaysFailed'
}

// The list is as long as a contract wants it to be.
const mostGateways = 8

/**
 * The question of ERC-3668 to gateways, in their order until one answers: viem's `ccipRead.request`, which would
 * call `fetch` itself. @throws GatewaysFailed
 */
export function guardedCcipRequest(fetchGateway: FetchGateway) {
  return async ({ data, sender, urls }: CcipRequestParameters): Promise<Hex> => {
    const reasons: string[] = []
    for (const template of urls.slice(0, mostGateways)) {
      try {
        return await ask(fetchGateway, template, { data, sender: sender.toLowerCase() })
      } catch (error) {
        reasons.push(error instanceof Error ? error.message : 'unknown')
      }
    }
    throw new GatewaysFailed(reasons.join('; ') || 'no gateway is named')
  }
}

async function ask(
  fetchGateway: FetchGateway,
  template: string,
  question: { data: Hex; sender: string },
): Promise<Hex> {
  const url = template.replaceAll('{sender}', question.sender).replaceAll('{data}', question.data)
  const answer = await fetchGateway(
    template.includes('{data}')
      ? { url, method: 'GET', headers: {} }
      : {
          url,
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(question),
        },
  )
  const { origin } = new URL(url)
  if (answer.status < 200 || answer.status > 299) throw new Error(`${origin} answers ${answer.status}`)
  const text = answer.body.toString()
  const data = String(answer.headers['content-type'] ?? '').startsWith('application/json')
    ? dataIn(text)
    : text
  if (!isHex(data)) throw new Error(`${origin} answers something that is not hex data`)
  return data
}

function dataIn(text: string): unknown {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null && 'data' in parsed ? parsed.data : undefined
  } catch {
    return undefined
  }
}
