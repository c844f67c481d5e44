// usage: node client.js URL TOKEN: calls a server through the client that is generated from its own document.
import createClient from "openapi-fetch";
import type { paths } from "./paths.js";

declare const process: { argv: string[]; exit(status: number): never };

const [, , url, token] = process.argv;
const client = createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${token}` } });
const params = { header: { "X-Better-Compute": "1" as const } };

function expect(condition: boolean, what: string): void {
  if (!condition) {
    console.error(`not as expected: ${what}`);
    process.exit(1);
  }
}

const made = await client.POST("/api/compute/pools/create", { params, body: { tenantId: "acme", name: "h100" } });
expect(made.response.status === 200, `create: ${made.response.status}`);
const pool = made.data?.data as { id: string; name: string };
expect(pool.name === "h100", "the pool that was made");

const listed = await client.POST("/api/compute/pools/list", { params, body: { tenantId: "acme", limit: 10 } });
expect((listed.data?.data as { items: { id: string }[] }).items[0]?.id === pool.id, "the list");

const taken = await client.POST("/api/compute/pools/create", { params, body: { tenantId: "acme", name: "h100" } });
expect(taken.response.status === 409, `taken: ${taken.response.status}`);
expect(taken.error?.error.code === "CONFLICT", "the code of a refusal");

// The types hold the caller to the contract; each of these would be a mistake.
export const mistakes = [
  // @ts-expect-error: the field is missing
  () => client.POST("/api/compute/pools/create", { params, body: { tenantId: "acme" } }),
  // @ts-expect-error: a number is no name
  () => client.POST("/api/compute/pools/create", { params, body: { tenantId: "acme", name: 5 } }),
  // @ts-expect-error: there is no such method
  () => client.POST("/api/compute/pools/destroy", { params, body: {} }),
];
console.log("called");
