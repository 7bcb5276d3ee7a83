package engine

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// learnReplication finds out, from the answer to INFO, whether the master would go on
// renewing what is held when it is cut off from its replicas, and says so in the log. A
// client whose renewals are confirmed by replicas need not know, nor one of a cluster:
// there a master that is cut off from the others stops by itself.
func (e *Engine) learnReplication(ctx context.Context, info string) {
	if e.RenewalAcks || e.cluster {
		return
	}
	if found := e.alone(ctx, info); found != "" {
		e.Logger.Warn("in a network partition a master that is cut off from its replicas goes on renewing what is held, beside the "+
			"one that is promoted: set min-replicas-to-write to 1, and min-replicas-max-lag below the watchdog timeout in seconds, "+
			"or use WithReplicaAcks with Renewals", "found", found, "watchdog-timeout", e.WatchdogTimeout)
	}
}

// alone returns the setting of the master, if it has replicas and goes on without them, "" if
// there is none, or if it is not known.
func (e *Engine) alone(ctx context.Context, info string) string {
	replicas, stops := 0, false
	for line := range strings.Lines(info) {
		if n, ok := strings.CutPrefix(line, "connected_slaves:"); ok {
			replicas, _ = strconv.Atoi(strings.TrimSpace(n))
		}
		stops = stops || strings.HasPrefix(line, "min_slaves_good_slaves:") // there only if it is set
	}
	switch {
	case replicas == 0:
		return ""
	case !stops:
		return "min-replicas-to-write=0"
	}
	config, _ := e.Redis.Do(ctx, e.Redis.B().ConfigGet().Parameter("min-replicas-max-lag").Build()).AsStrMap()
	lag, err := strconv.Atoi(config["min-replicas-max-lag"])
	if err != nil || time.Duration(lag)*time.Second < e.WatchdogTimeout {
		return ""
	}
	return "min-replicas-max-lag=" + config["min-replicas-max-lag"]
}
