package redistest

import "strings"

const slots = 16384

// Slot returns the cluster slot of a key: CRC16 of its hash tag, or of all of it.
func Slot(key string) int {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, closed := strings.Cut(rest, "}"); closed && tag != "" {
			key = tag
		}
	}
	return int(crc16(key)) % slots
}

// crc16 returns the XMODEM variant: polynomial 0x1021, start 0.
func crc16(s string) (crc uint16) {
	for i := range len(s) {
		crc ^= uint16(s[i]) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
	}
	return crc
}
