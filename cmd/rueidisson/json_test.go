package main

import "time"

// What the commands say with --json, as a script would read it.
type (
	jobReportJSON struct {
		ID      int64  `json:"id"`
		Attempt int    `json:"attempt"`
		Outcome string `json:"outcome"`
		Exit    int    `json:"exit"`
		TookMS  int64  `json:"took_ms"`
		Error   string `json:"error"`
	}

	jobStatsJSON struct {
		Name     string `json:"name"`
		Ready    int64  `json:"ready"`
		Due      int64  `json:"due"`
		Behind   int64  `json:"behind"`
		Leased   int64  `json:"leased"`
		Dead     int64  `json:"dead"`
		Added    int64  `json:"added"`
		Acked    int64  `json:"acked"`
		Retried  int64  `json:"retried"`
		RanOut   int64  `json:"ran_out"`
		Expired  int64  `json:"expired"`
		OldestMS int64  `json:"oldest_ms"`
		Paused   bool   `json:"paused"`
	}

	rateToldJSON struct {
		Text      string `json:"text"`
		N         int64  `json:"n"`
		PerNS     int64  `json:"per_ns"`
		Burst     int64  `json:"burst"`
		PerClient bool   `json:"per_client"`
	}

	ruleToldJSON struct {
		Set  *bool        `json:"set"`
		Rate rateToldJSON `json:"rate"`
	}

	decidedJSON struct {
		Name         string       `json:"name"`
		Key          string       `json:"key,omitempty"`
		Allowed      bool         `json:"allowed"`
		Paused       bool         `json:"paused,omitempty"`
		Limit        int64        `json:"limit"`
		Remaining    int64        `json:"remaining"`
		RetryAfterMS int64        `json:"retry_after_ms"`
		ResetAfterMS int64        `json:"reset_after_ms"`
		Rate         rateToldJSON `json:"rate"`
		KeepAliveMS  int64        `json:"keep_alive_ms,omitempty"`
	}

	takenJSON struct {
		decidedJSON
		N        int64 `json:"n"`
		WaitedMS int64 `json:"waited_ms"`
	}

	seenJSON struct {
		Time time.Time `json:"time"`
		decidedJSON
	}

	scarceJSON struct {
		Name      string `json:"name"`
		Key       string `json:"key"`
		Hashed    bool   `json:"hashed"`
		Remaining int64  `json:"remaining"`
		Limit     int64  `json:"limit"`
		BlockedMS int64  `json:"blocked_ms"`
	}

	resultJSON struct {
		Name     string `json:"name"`
		Outcome  string `json:"outcome"`
		Exit     int    `json:"exit"`
		WaitedMS int64  `json:"waited_ms"`
		HeldMS   int64  `json:"held_ms"`
		Error    string `json:"error"`
	}

	foundJSON struct {
		Held bool `json:"held"`
	}

	permitFoundJSON struct {
		ID  string `json:"id"`
		Own bool   `json:"own"`
	}

	barrierFoundJSON struct {
		Name        string `json:"name"`
		Kind        string `json:"kind"`
		Held        bool   `json:"held"`
		Parties     int64  `json:"parties"`
		Waiting     int64  `json:"waiting"`
		Inside      int64  `json:"inside"`
		Generation  int64  `json:"generation"`
		RemainingMS int64  `json:"remaining_ms"`
	}
)
