"""A pool with nodes for the end-to-end tests of reservations. Nodes are written as rows, as agents' first hellos would leave them."""

import sqlite3
import subprocess

from harness import post

HOUR = 3600


def write(deployment, statements):
    if deployment.engine == "postgres":
        # One transaction, from its input: an argument may not be that long.
        done = subprocess.run(
            ["psql", "-X", "-q", "-1", "-v", "ON_ERROR_STOP=1", "-f", "-", deployment.database],
            input=";\n".join(statements) + ";\n", capture_output=True, text=True, check=False,
        )
        assert done.returncode == 0, done.stderr
        return
    connection = sqlite3.connect(deployment.database.removeprefix("sqlite:"), timeout=30)
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def add_nodes(deployment, pool, count, gpus=8, model="H100", tenant="acme"):
    """Running daemons see them as they would see nodes that joined elsewhere."""
    changed = "(select coalesce(max(changed_in), 0) + 1 from nodes)"
    if deployment.engine == "postgres":
        changed = "cast(cast(pg_current_xact_id() as text) as bigint)"
    statements = []
    for i in range(count):
        node = f"node_{pool[5:25]}{i:06d}"
        statements.append(
            "insert into nodes (id, tenant_id, pool_id, name, labels, connection, connection_since, admin, cpu_milli, memory_mib,"
            " expected_gpus, machine_id, boot_id, credential_hash, epoch, connected_to, fence_ms, clock_skew_ms, inventory_hash, abilities,"
            f" version, changed_in, created_at, updated_at) values ('{node}', '{tenant}', '{pool}', 'n{i}', '{{}}', 'ready', 0,"
            f" 'enabled', 192000, 2097152, {gpus}, 'm{i}', 'b{i}', '', 1, '', 0, 0, '', '{{}}', 1, {changed}, 0, 0)"
        )
        for gpu in range(gpus):
            statements.append(
                "insert into node_gpus (node_id, tenant_id, uuid, gpu_index, model, memory_mib, pci_bus_id, health, health_since,"
                f" present) values ('{node}', '{tenant}', 'GPU-{node}-{gpu}', {gpu}, '{model}', 81920, '', 'healthy', 0, 1)"
            )
    write(deployment, statements)


def create_pool(url, token, name="p", **more):
    """No agent speaks for these nodes, so the pool waits long before it calls them disconnected."""
    more = {"disconnectedAfterSeconds": 600, "lostAfterSeconds": 86_400, **more}
    return post(url, "pools/create", {"tenantId": "acme", "name": name, **more}, token).data["id"]


def reserve(url, token, pool, key, gpus=1, hours=1, **more):
    body = {
        "tenantId": "acme", "poolId": pool, "gpuCount": gpus, "durationSeconds": hours * HOUR, "idempotencyKey": key, **more,
    }
    return post(url, "reservations/create", body, token)


def faults(deployment):
    """What doctor says about bookings."""
    done = deployment.cli("doctor", "--json", "--deep")
    found = done.json["findings"] if isinstance(done.json, dict) else done.json
    return [finding for finding in found if finding["check"].startswith("capacity.") and finding["severity"] == "error"]
