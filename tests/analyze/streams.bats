# SPDX-License-Identifier: GPL-3.0-only
# streams.bats - CSV streams (iot-analyze export): headers of earlier tools, rows with known answers.

load ../lib/analyze

# The headers as the scripts of users know them.
fs=timestamp,operation,pid,tid,command,filename,size,offset,bytes_completed,inode,device,flags,duration_ns,return_value,errno,mmap_prot,mmap_flags,address,cmdline,ppid,container_id,fs_type,mono_ns
block=timestamp,operation,pid,tid,command,sector,size,latency_ms,device,flags,cpu_id,ppid,queue_latency_ms,command_flags,operation_code,request_id,mono_ns
cache=timestamp,pid,command,event_type,inode,page_index,size_pages,cpu_id,device_id,count,mono_ns
nw=timestamp,pid,command,protocol,ip_version,source_addr,dest_addr,source_port,dest_port,size,direction,latency_ns,error_code,msg_flags
nw_conn=timestamp,event_type,pid,tid,command,domain,sock_type,ipver,local_addr,remote_addr,sport,dport,fd,backlog,shutdown_how,latency_ns,return_value,mono_ns
nw_epoll=timestamp,event_type,pid,tid,command,epoll_fd,target_fd,operation,event_mask,max_events,ready_count,timeout,latency_ns
nw_sockopt=timestamp,event_type,pid,command,fd,level,option_name,optval,return_value,mono_ns
nw_drop=timestamp,event_type,pid,command,proto,ipver,src_addr,dst_addr,sport,dport,skb_len,drop_reason,tcp_state,mono_ns
pagefault=timestamp,pid,tid,command,fault_type,severity,inode,offset,address,dev_id
iouring=timestamp,pid,command,opcode,fd,offset,len,result,latency_ms,inode
all='block cache fs iouring nw nw_conn nw_drop nw_epoll nw_sockopt pagefault'

# A run with every layer whole; its events are the lines of standard input.
whole_run() {
	{
		printf '%s\n' '{"t":"run","schema":5,"uuid":"w","host":"h","kernel":"k","machine":"m","cpus":2,"tool":"0","layers":"syscall,uring,vfs,cache,fs,block,net","whole":"syscall,uring,vfs,cache,fs,block,net","tier":"full","events":1,"settle":"sync","wall_ns":1764000000000018613,"boot_ns":5000,"utc_offset_s":3600}' \
			'{"t":"device","dev":"8:0","name":"sda","type":"disk","leaf":1,"fs":"ext4"}' \
			'{"t":"process","id":1,"pid":9,"start_ns":1,"comm":"iot-trace","kthread":0}' \
			'{"t":"process","id":3,"pid":812,"start_ns":5,"ppid":700,"comm":"dd","cmdline":"dd \"a,b\"","kthread":0}' \
			'{"t":"file","id":1,"dev":"8:0","ino":77,"gen":1,"path":"/m/a,\"b\"\n=1+2"}' \
			'{"t":"flow","owner":3,"family":"ipv4","protocol":"tcp","local":"10.0.0.1","local_port":40000,"remote":"10.0.0.2","remote_port":80,"loopback":0,"sent_bytes":101,"recv_bytes":0,"sends":1,"recvs":0}'
		cat
		printf '%s\n' '{"t":"end","dur_ns":1000000000,"horizon":"after_sync","events":9}'
	} | "$ANALYZE" ingest w.sqlite
}

# A column of a stream by its name, read as CSV by a parser that is not ours.
column() { # STREAM COLUMN
	python3 -c 'import csv, sys
for row in csv.DictReader(open(f"x/{sys.argv[1]}.csv", newline="")): print(row[sys.argv[2]])' "$1" "$2"
}

@test "each stream has the header that scripts of earlier tools read" {
	whole_run < /dev/null
	"$ANALYZE" export w.sqlite x
	[ "$(cd x && echo *)" = "$(printf '%s.csv ' $all | sed 's/ $//')" ]
	for stream in $all; do
		[ "$(cat "x/$stream.csv")" = "${!stream}" ] || { echo "$stream"; false; }
	done
}

@test "calls and requests are rows with times, names and results worked out by hand" {
	whole_run <<-'END'
		{"t":"event","ts_ns":1000,"dur_ns":500,"kind":"pwrite64","task":3,"owner":3,"tid":813,"file":1,"dev":"8:0","offset":8192,"size":4099,"bytes":4099,"sub":"regular"}
		{"t":"event","ts_ns":2000,"dur_ns":500,"kind":"pread64","task":3,"owner":3,"tid":813,"file":1,"dev":"8:0","size":4096,"bytes":4096,"sub":"regular","flags":1}
		{"t":"event","ts_ns":3000,"kind":"write","task":3,"owner":3,"tid":813,"size":7,"bytes":7,"sub":"pipe"}
		{"t":"event","ts_ns":4000,"kind":"open","task":3,"owner":3,"tid":813,"err":2}
		{"t":"event","ts_ns":5000,"kind":"write","task":1,"owner":1,"tid":9,"file":1,"dev":"8:0","size":17,"bytes":17,"sub":"regular"}
		{"t":"event","ts_ns":6000,"dur_ns":2500000,"queue_ns":1500,"kind":"block_write","owner":3,"tid":40,"dev":"8:0","offset":1048576,"size":8192,"bytes":8192,"flags":34,"cpu":1}
		{"t":"event","ts_ns":7000,"dur_ns":1000,"kind":"block_flush","owner":3,"tid":40,"dev":"8:0"}
		{"t":"event","ts_ns":8000,"kind":"net_send","task":3,"owner":3,"tid":813,"offset":2621440080,"size":101,"bytes":101,"sub":"net_remote"}
		{"t":"event","ts_ns":9000,"dur_ns":1000,"kind":"uring_read","task":3,"owner":3,"tid":813,"file":1,"dev":"8:0","size":512,"bytes":500,"sub":"regular"}
		{"t":"event","ts_ns":9500,"kind":"hit","owner":3,"tid":813,"file":1,"offset":12288,"size":8192,"bytes":8192}
		{"t":"event","ts_ns":9900,"kind":"fault_major","owner":3,"tid":813,"file":1,"offset":4096,"size":4096,"op":1}
	END
	"$ANALYZE" export w.sqlite x
	[ "$(column fs operation | tr '\n' ' ')" = "WRITE DIO_READ OPEN READ " ]
	[ "$(column fs timestamp | head -n 1)" = "2025-11-24 17:00:00.000019613" ]
	[ "$(column fs mono_ns | head -n 1)" = 6000 ]
	[ "$(column fs return_value | tr '\n' ' ')" = "4099 4096 -2 500 " ]
	[ "$(column fs errno | tr '\n' ' ')" = "0 0 2 0 " ]
	[ "$(column fs filename | head -n 2)" = '/m/a,"b"
=1+2' ]
	[ "$(column fs cmdline | head -n 1)" = 'dd "a,b"' ]
	[ "$(column fs fs_type | head -n 1) $(column fs inode | head -n 1) $(column fs device | head -n 1)" = "ext4 77 8:0" ]
	[ "$(tail -n 2 x/block.csv)" = "2025-11-24 17:00:00.000024613,WRITE,812,40,dd,2048,8192,2.500,8:0,SYNC|FUA,1,700,0.0015,,1,6,11000
2025-11-24 17:00:00.000025613,FLUSH,812,40,dd,0,0,0.001,8:0,,0,700,,,2,7,12000" ]
	[ "$(tail -n 1 x/nw.csv)" = "2025-11-24 17:00:00.000026613,812,dd,TCP,4,10.0.0.1,10.0.0.2,40000,80,101,send,,0," ]
	[ "$(tail -n 1 x/iouring.csv)" = "2025-11-24 17:00:00.000027613,812,dd,uring_read,,0,512,500,0.001,77" ]
	[ "$(tail -n 1 x/cache.csv)" = "2025-11-24 17:00:00.000028113,812,dd,HIT,77,3,2,0,8:0,2,14500" ]
	[ "$(tail -n 1 x/pagefault.csv)" = "2025-11-24 17:00:00.000028513,812,813,dd,WRITE,MAJOR,77,4096,,8:0" ]
}

@test "a stream that was not recorded has no file, not even one of before" {
	python3 "$ROOT/tests/lib/gen-run.py" 1009 | "$ANALYZE" ingest g.sqlite
	mkdir x
	echo old > x/nw_drop.csv
	"$ANALYZE" export g.sqlite x > said
	[ "$(cd x && echo *)" = "block.csv fs.csv iouring.csv" ]
	grep -q '^nw_drop.csv .*no file: its events are recorded with --layers net$' said
	sum=$(sqlite3 g.sqlite "SELECT SUM(e.bytes) FROM event e JOIN kind k ON k.id = e.kind WHERE k.name = 'block_write'")
	[ "$sum" -gt 0 ]
	[ "$(awk -F, '$2 == "WRITE" { sum += $7 } END { print sum }' x/block.csv)" = "$sum" ]
	rows=$(sqlite3 g.sqlite "SELECT COUNT(*) FROM event e JOIN kind k ON k.id = e.kind WHERE k.name = 'block_write'")
	[ "$(grep -c ,WRITE, x/block.csv)" = "$rows" ]
}

@test "a run without events has no streams, and unknown streams are refused" {
	python3 "$ROOT/tests/lib/gen-run.py" 101 --no-events | "$ANALYZE" ingest g.sqlite
	run -1 "$ANALYZE" export g.sqlite x
	[ "$output" = "iot-analyze: export needs events, and the run recorded none" ]
	[ ! -e x ]
	run -2 "$ANALYZE" export g.sqlite x --table blocks
	[[ $output = *"there is no stream 'blocks'"* ]]
}

@test "a file of a stream is not written through a symbolic link" {
	whole_run < /dev/null
	mkdir x
	ln -s "$PWD/elsewhere" x/fs.csv
	run -1 "$ANALYZE" export w.sqlite x
	[ ! -e elsewhere ]
}
