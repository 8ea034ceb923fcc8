import { expect, test } from 'vitest'
import { RequestTimes } from '../../src/daemon/process/request-times.ts'

test('times count in every bucket whose bound they do not exceed', () => {
  const times = new RequestTimes()
  for (const seconds of [0.001, 0.002, 0.5, 60]) times.of('GET', '/t/:uid(^\\d{1,17}$)', 200).observe(seconds)
  times.of('GET', 'none', 404).observe(3)

  const labels = 'method="GET",route="/t/:uid(^\\\\d{1,17}$)",status="200"'
  const lines = times.text().split('\n')
  expect(lines.filter((line) => line.includes(labels))).toEqual([
    ...[
      ['0.001', 1],
      ['0.005', 2],
      ['0.02', 2],
      ['0.1', 2],
      ['0.5', 3],
      ['2', 3],
      ['10', 3],
      ['+Inf', 4],
    ].map(([le, count]) => `tapchip_http_request_seconds_bucket{le="${le}",${labels}} ${count}`),
    `tapchip_http_request_seconds_sum{${labels}} 60.503`,
    `tapchip_http_request_seconds_count{${labels}} 4`,
  ])
  expect(lines).toContain('tapchip_http_request_seconds_count{method="GET",route="none",status="404"} 1')
  expect(lines.at(-1)).toBe('')
})
