// Verifies a webhook delivery: usage: SECRET=whsec_... node verify.mjs TIMESTAMP SIGNATURE_HEADER < body; prints `valid` or `invalid`.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';

const TOLERANCE_SECONDS = 300;

export function isValid(secret, timestamp, signature, body, now = Date.now() / 1000) {
  if (!/^[0-9]{1,12}$/.test(timestamp) || Math.abs(now - Number(timestamp)) > TOLERANCE_SECONDS) return false;
  const expected = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest();
  return signature
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part.startsWith('v1='))
    .map((part) => Buffer.from(part.slice(3), 'hex'))
    .some((given) => given.length === expected.length && timingSafeEqual(given, expected));
}

const [timestamp, signature] = process.argv.slice(2);
const valid = isValid(process.env.SECRET, timestamp, signature, readFileSync(0));
console.log(valid ? 'valid' : 'invalid');
process.exitCode = valid ? 0 : 1;
