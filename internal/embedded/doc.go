// Package embedded runs a server inside the process: miniredis, which keeps
// what it stores in memory and listens on 127.0.0.1, with a clock that can be
// relied on.
//
// # Time
//
// By itself miniredis has no clock for expiry: keys expire when it is told how
// much time has passed. A ticker that tells it so would do harm: a key that was
// set just before a late tick is charged with time that passed before it was
// set, and expires while its owner still trusts it. Here the clock moves when a
// command arrives, before the command runs, and stands still while it runs, as
// Redis' own does during a script. So a key never expires earlier than its time
// to live after the arrival of the command that set it, give or take the 1 ms
// by which the clock moves at least (a hold's safety margin is 2 ms or more); it
// is gone for every command that arrives after that; and TIME, EXPIREAT and
// times to live agree. Nobody is told when a key expires.
//
// Each step of the clock looks at every key. That is nothing for hundreds of
// keys, and some milliseconds for ten thousand.
//
// # What differs from a server
//
// It is one database process without persistence, replicas, ACL or limits: WAIT
// answers 0, and INFO has no server section, so that no version is checked.
// CLUSTER is refused, as by a server that is not one; miniredis would claim to
// be a cluster. SPUBLISH, SSUBSCRIBE and HPEXPIRE do not exist, and scripts find
// neither struct nor cmsgpack. Pub/sub works over RESP2 only: use
// [Server.ClientOption] or [Server.URL].
package embedded
