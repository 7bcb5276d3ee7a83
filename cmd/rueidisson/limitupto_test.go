package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
)

func TestLimitTakeUpTo(t *testing.T) {
	o := newLimits(t)
	o.says("set mails --rate 5/h")
	assert.Equal(t, "granted 3, 2 of 5 left\n", o.says("take mails 3 --up-to --key u"))
	assert.Equal(t, "granted 2, 0 of 5 left\n", o.says("take mails 100 --up-to --key u"))
	assert.Equal(t, said{exit.Refused, "refused, retry after 12m0s\n", ""}, o.run("take mails 100 --up-to --key u"))
	const rate = `"rate":{"text":"5/h burst 5","n":5,"per_ns":3600000000000,"burst":5,"per_client":false}`
	assert.Equal(t, `{"name":"mails","allowed":true,"limit":5,"remaining":0,"retry_after_ms":0,"reset_after_ms":3600000,`+rate+
		`,"n":9,"waited_ms":0,"taken":5}`+"\n", o.says("take mails 9 --up-to --json"))
	got := o.run("take mails 9 --json --up-to")
	assert.Equal(t, exit.Refused, got.code)
	assert.Contains(t, got.out, `"allowed":false`)
	assert.Contains(t, got.out, `"taken":0`)
	o.says("pause mails")
	assert.Equal(t, said{exit.Refused, "refused while paused, retry after 1s\n", ""}, o.run("take mails --up-to"))
	for args, says := range map[string]string{
		"take mails 0 --up-to": "at least 1", "take mails --up-to --wait 1s": "exclude", "take mails --up-to --redisson": "exclude",
	} {
		got := o.run(args)
		assert.Equal(t, exit.Usage, got.code, args)
		assert.Contains(t, got.errors, says)
	}
}
