-- Made by scripts/dump-schema.ts from a migrated base. Not run by anything: migrations/ is.

create table attempts (
  phase_id text not null,
  attempt integer not null,
  session_id text,
  label text not null,
  status text not null,
  cause text,
  reason text,
  duration_ms bigint,
  cost_usd numeric(15,9),
  cost_complete boolean not null default true,
  tokens bigint,
  checkpoint text,
  pid integer,
  pid_started text,
  started_at timestamp with time zone not null,
  constraint attempts_pkey PRIMARY KEY (phase_id, attempt),
  constraint attempts_phase_id_fkey FOREIGN KEY (phase_id) REFERENCES phases(phase_id),
  constraint attempts_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions(session_id),
  constraint attempts_status_check CHECK ((status = ANY (ARRAY['running'::text, 'done'::text, 'failed'::text, 'cancelled'::text, 'interrupted'::text])))
);

create table events (
  seq bigint not null,
  event_id text not null,
  run_id text,
  phase_id text,
  type text not null,
  name text,
  payload_json text not null,
  ts timestamp with time zone not null,
  constraint events_pkey PRIMARY KEY (seq),
  constraint events_event_id_key UNIQUE (event_id),
  constraint events_run_id_fkey FOREIGN KEY (run_id) REFERENCES runs(run_id)
);
CREATE INDEX events_phase_session ON events USING btree (phase_id) WHERE (type = 'phase_session'::text);
CREATE INDEX events_run ON events USING btree (run_id, seq);

create table harness_events (
  event_id text not null,
  session_id text not null,
  type text not null,
  name text,
  payload_json text not null,
  ts timestamp with time zone not null,
  line_no bigint not null default 0,
  turn integer,
  tool_call_id text,
  tokens bigint,
  cost_usd numeric(15,9),
  constraint harness_events_pkey PRIMARY KEY (event_id)
);
CREATE INDEX harness_events_session ON harness_events USING btree (session_id, ts, line_no);

create table ingest_files (
  path text not null,
  kind text not null,
  size_bytes bigint not null,
  offset_bytes bigint not null,
  inode text not null,
  line_no bigint not null,
  fingerprint text,
  constraint ingest_files_pkey PRIMARY KEY (path)
);

create table llm_calls (
  id text not null,
  run_id text,
  phase_id text,
  label text not null,
  attempt integer,
  session_id text,
  job_id text not null,
  seq integer not null,
  turn integer,
  agent text,
  provider text not null,
  model_asked text not null,
  model_answered text,
  dialect text not null,
  stream boolean not null,
  started_at timestamp with time zone not null,
  first_byte_ms real,
  upstream_ms real,
  overhead_ms real,
  total_ms real,
  http_status integer,
  outcome text,
  finish_reason text,
  input bigint,
  cache_read bigint,
  cache_write_5m bigint,
  cache_write_1h bigint,
  output bigint,
  reasoning bigint,
  usage_source text,
  cost_usd numeric(15,9),
  cost_status text,
  price_version text,
  message_count integer,
  tool_count integer,
  response_id text,
  request_bytes bigint,
  response_bytes bigint,
  constraint llm_calls_pkey PRIMARY KEY (id),
  constraint llm_calls_cost_status_check CHECK ((cost_status = ANY (ARRAY['priced'::text, 'unpriced'::text, 'notional'::text, 'free'::text, 'estimated'::text]))),
  constraint llm_calls_outcome_check CHECK ((outcome = ANY (ARRAY['done'::text, 'upstream-error'::text, 'upstream-cut'::text, 'client-abort'::text, 'timeout'::text, 'not-json'::text, 'proxy-killed'::text])))
);
CREATE INDEX llm_calls_run ON llm_calls USING btree (run_id, started_at);

create table phases (
  phase_id text not null,
  run_id text not null,
  seq integer not null,
  name text not null,
  call_no integer not null default 1,
  kind text not null,
  status text not null,
  attempts integer not null default 0,
  retries integer not null default 0,
  on_interrupt text,
  result_json text,
  cost_usd numeric(15,9),
  cost_complete boolean not null default true,
  tokens bigint,
  started_at timestamp with time zone not null,
  finished_at timestamp with time zone,
  constraint phases_pkey PRIMARY KEY (phase_id),
  constraint phases_run_id_name_call_no_key UNIQUE (run_id, name, call_no),
  constraint phases_run_id_seq_key UNIQUE (run_id, seq),
  constraint phases_run_id_fkey FOREIGN KEY (run_id) REFERENCES runs(run_id),
  constraint phases_kind_check CHECK ((kind = ANY (ARRAY['agent'::text, 'code'::text]))),
  constraint phases_seq_check CHECK (((seq >= 1) AND (seq <= 99))),
  constraint phases_status_check CHECK ((status = ANY (ARRAY['running'::text, 'done'::text, 'failed'::text, 'cancelled'::text, 'interrupted'::text])))
);

create table prices (
  provider text not null,
  model text not null,
  version text not null,
  valid_from timestamp with time zone not null default now(),
  input numeric(15,6) not null,
  output numeric(15,6) not null,
  cache_read numeric(15,6) not null,
  cache_write_5m numeric(15,6) not null,
  cache_write_1h numeric(15,6) not null,
  constraint prices_pkey PRIMARY KEY (provider, model, version),
  constraint prices_cache_read_check CHECK ((cache_read >= (0)::numeric)),
  constraint prices_cache_write_1h_check CHECK ((cache_write_1h >= (0)::numeric)),
  constraint prices_cache_write_5m_check CHECK ((cache_write_5m >= (0)::numeric)),
  constraint prices_input_check CHECK ((input >= (0)::numeric)),
  constraint prices_output_check CHECK ((output >= (0)::numeric))
);

create table projects (
  id text not null,
  name text not null,
  repo text not null,
  base_branch text not null,
  validation text[] not null default '{}'::text[],
  validation_attempts integer not null default 3,
  agent text not null default 'pi'::text,
  model text,
  ceilings jsonb not null default '{}'::jsonb,
  scope text,
  allow_hosts text[] not null default '{}'::text[],
  trusted jsonb not null default '{}'::jsonb,
  paused_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  constraint projects_pkey PRIMARY KEY (id),
  constraint projects_repo_key UNIQUE (repo),
  constraint projects_id_check CHECK ((id ~ '^[a-z0-9][a-z0-9-]{0,62}$'::text)),
  constraint projects_validation_attempts_check CHECK (((validation_attempts >= 0) AND (validation_attempts <= 10)))
);

create table providers (
  name text not null,
  dialect text not null,
  base_url text not null,
  key_env text,
  enabled boolean not null default true,
  created_at timestamp with time zone not null default now(),
  constraint providers_pkey PRIMARY KEY (name),
  constraint providers_dialect_check CHECK ((dialect = ANY (ARRAY['chat-completions'::text, 'responses'::text, 'messages'::text])))
);

create table requests (
  id text not null,
  door text not null,
  text text not null,
  project_id text,
  scope text,
  intent text,
  status text not null,
  reason text,
  created_at timestamp with time zone not null default now(),
  constraint requests_pkey PRIMARY KEY (id),
  constraint requests_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id),
  constraint requests_door_check CHECK ((door = ANY (ARRAY['console'::text, 'mail'::text, 'schedule'::text]))),
  constraint requests_intent_check CHECK ((intent = ANY (ARRAY['run'::text, 'mission'::text, 'question'::text, 'noise'::text, 'negotiation'::text, 'advice'::text]))),
  constraint requests_status_check CHECK ((status = ANY (ARRAY['received'::text, 'scanning'::text, 'blocked'::text, 'needs_person'::text, 'classified'::text, 'dispatched'::text, 'running'::text, 'waiting'::text, 'actioned'::text, 'archived'::text, 'escalated'::text, 'failed'::text, 'cancelled'::text])))
);

create table runs (
  run_id text not null,
  request_id text,
  project_id text not null,
  workflow text not null,
  workflow_sha text,
  input text not null,
  agent text,
  model text,
  status text not null,
  level text not null default 'none'::text,
  rehearsal boolean not null default false,
  cause text,
  reason text,
  question text,
  result_text text,
  lease_owner text,
  lease_until timestamp with time zone,
  fence bigint not null default 0,
  worktree text,
  branch text,
  base_sha text,
  commit_sha text,
  cost_usd numeric(15,9),
  cost_complete boolean not null default true,
  tokens bigint,
  created_at timestamp with time zone not null default now(),
  started_at timestamp with time zone,
  finished_at timestamp with time zone,
  constraint runs_pkey PRIMARY KEY (run_id),
  constraint runs_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id),
  constraint runs_request_id_fkey FOREIGN KEY (request_id) REFERENCES requests(id),
  constraint runs_agent_check CHECK ((agent = ANY (ARRAY['pi'::text, 'claude-code'::text, 'codex'::text]))),
  constraint runs_level_check CHECK ((level = ANY (ARRAY['none'::text, 'guard'::text, 'sandbox'::text]))),
  constraint runs_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'waiting'::text, 'done'::text, 'failed'::text, 'cancelled'::text])))
);
CREATE INDEX runs_live ON runs USING btree (lease_until) WHERE (status = ANY (ARRAY['running'::text, 'waiting'::text]));
CREATE UNIQUE INDEX runs_one_live_per_request ON runs USING btree (request_id) WHERE (status = ANY (ARRAY['queued'::text, 'running'::text, 'waiting'::text]));
CREATE INDEX runs_queue ON runs USING btree (created_at) WHERE (status = 'queued'::text);

create table sessions (
  session_id text not null,
  phase_id text not null,
  harness text not null,
  cwd text not null,
  created_at timestamp with time zone not null default now(),
  constraint sessions_pkey PRIMARY KEY (session_id),
  constraint sessions_phase_id_fkey FOREIGN KEY (phase_id) REFERENCES phases(phase_id),
  constraint sessions_harness_check CHECK ((harness = ANY (ARRAY['pi'::text, 'claude-code'::text, 'codex'::text])))
);
CREATE INDEX sessions_phase ON sessions USING btree (phase_id);

create view harness_by_phase as
 SELECT p.run_id AS adw_id,
    s.phase_id,
    h.event_id,
    h.session_id,
    h.type,
    h.name,
    h.payload_json,
    h.ts,
    h.line_no,
    h.turn,
    h.tool_call_id,
    h.tokens,
    h.cost_usd
   FROM harness_events h
     JOIN sessions s ON s.session_id = h.session_id
     JOIN phases p ON p.phase_id = s.phase_id;
