// What the API is measured against: Fastify with a schema, and one transaction of three inserts for each POST /entries - the row, its
// audit row, its event. No credential, no decision, no idempotency: the least that a service of this kind does.
//
//   node server.mjs sqlite FILE full|normal     better-sqlite3, WAL
//   node server.mjs postgres URL on|off         pg, a pool of 16, five round trips as written by hand
//
// Prints one line when it listens: {"port": N}.
import Fastify from 'fastify';

const [engine, where, synchronous] = process.argv.slice(2);
const tenant = 'acme';
const actor = 'bench';
const statements = {
  entry: 'insert into entries (tenant, name, body, created) values (?, ?, ?, ?)',
  audit: 'insert into audit (tenant, actor, action, target, at) values (?, ?, ?, ?, ?)',
  event: 'insert into outbox (tenant, type, body, at) values (?, ?, ?, ?)',
};

async function openSqlite() {
  const { default: Database } = await import('better-sqlite3');
  const db = new Database(where);
  db.pragma('journal_mode = wal');
  db.pragma(`synchronous = ${synchronous}`);
  db.exec(`create table entries (id integer primary key, tenant text, name text, body text, created int);
    create table audit (id integer primary key, tenant text, actor text, action text, target int, at int);
    create table outbox (id integer primary key, tenant text, type text, body text, at int);`);
  const entry = db.prepare(statements.entry);
  const audit = db.prepare(statements.audit);
  const event = db.prepare(statements.event);
  const run = db.transaction((name, body) => {
    const now = Date.now();
    const id = entry.run(tenant, name, body, now).lastInsertRowid;
    audit.run(tenant, actor, 'entries.create', id, now);
    event.run(tenant, 'entry.created', body, now);
    return id;
  });
  return (name, body) => run.immediate(name, body);
}

async function openPostgres() {
  const { default: pg } = await import('pg');
  const pool = new pg.Pool({ connectionString: where, max: 16, options: `-c synchronous_commit=${synchronous}` });
  await pool.query(`create table entries (id bigint generated always as identity primary key, tenant text, name text, body text, created bigint);
    create table audit (id bigint generated always as identity primary key, tenant text, actor text, action text, target bigint, at bigint);
    create table outbox (id bigint generated always as identity primary key, tenant text, type text, body text, at bigint);`);
  const numbered = (text) => { let n = 0; return text.replace(/\?/g, () => `$${++n}`); };
  const named = (name, tail = '') => ({ name, text: numbered(statements[name]) + tail });
  return async (name, body) => {
    const client = await pool.connect();
    try {
      const now = Date.now();
      await client.query('begin');
      const made = await client.query({ ...named('entry', ' returning id'), values: [tenant, name, body, now] });
      const { id } = made.rows[0];
      await client.query({ ...named('audit'), values: [tenant, actor, 'entries.create', id, now] });
      await client.query({ ...named('event'), values: [tenant, 'entry.created', body, now] });
      await client.query('commit');
      return id;
    } catch (error) {
      await client.query('rollback').catch(() => {});
      throw error;
    } finally {
      client.release();
    }
  };
}

const create = engine === 'sqlite' ? await openSqlite() : await openPostgres();
const app = Fastify({ logger: false });
const text = { type: 'string', maxLength: 64 };
app.post('/entries', {
  schema: {
    body: {
      type: 'object',
      required: ['tenantId', 'id', 'type', 'data'],
      properties: { tenantId: text, id: text, type: text, data: { type: 'object', additionalProperties: true } },
    },
    response: { 200: { type: 'object', properties: { id: { type: 'string' }, status: { type: 'string' } } } },
  },
}, async (request) => {
  const id = await create(request.body.id, JSON.stringify(request.body));
  return { id: String(id), status: 'ok' };
});
await app.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(JSON.stringify({ port: app.server.address().port }) + '\n');
process.once('SIGTERM', () => process.exit(0));
