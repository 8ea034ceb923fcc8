/**
 * The data of each event in a stream of them, as EventSource would give it: that one can only GET, and a ref must not
 * stand in a URL. @param heard called for whatever arrives, comments included
 */
export async function* eventsOf(
  body: ReadableStream<Uint8Array>,
  heard: () => void,
): AsyncGenerator<string, void, void> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    while (true) {
      const { done, value } = await reader.read()
      if (done) return
      heard()
      rest += decoder.decode(value, { stream: true })
      const events = rest.split(/\r?\n\r?\n/)
      rest = events.pop() ?? ''
      for (const event of events) {
        const data = event.split(/\r?\n/).filter((line) => line.startsWith('data:'))
        if (data.length > 0) yield data.map((line) => line.slice(5).trimStart()).join('\n')
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
