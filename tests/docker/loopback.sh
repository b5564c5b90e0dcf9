#!/usr/bin/env bash
# docker/cluster.yaml as it is shipped, on one machine: two "machines" of one ordinary user, each an
# address of the loopback device, behind an SSH server of our own.
# As root, with openssh-server, rsync and tmux:
#   useradd --create-home --shell /bin/bash rayu
#   tests/docker/loopback.sh rayu start       # the SSH server; prints the folder with cluster.yaml
#   tests/docker/loopback.sh rayu ray up -y
#   tests/docker/loopback.sh rayu ray submit sweeper/launch.py search_spaces/quickstart.yaml
#   tests/docker/loopback.sh rayu stop
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
user=$1 what=$2
home=$(getent passwd "$user" | cut -d: -f6)
folder=/var/tmp/loopback-$user
port=2222 head=10.99.0.1 worker=10.99.0.2

start() {
    mkdir -p "$folder/bin" /run/sshd
    for address in $head $worker; do ip address replace "$address/32" dev lo; done
    [ -e "$folder/key" ] || ssh-keygen -q -t ed25519 -N "" -f "$folder/key"
    [ -e "$folder/host" ] || ssh-keygen -q -t ed25519 -N "" -f "$folder/host"
    install -d -m 700 -o "$user" "$home/.ssh"
    install -m 600 -o "$user" "$folder/key.pub" "$home/.ssh/authorized_keys"
    # Ray has no option for a port: the head finds it in its user's settings, we in a wrapper.
    printf 'Host %s %s\n    Port %s\n' $head $worker $port >"$home/.ssh/config"
    chown "$user" "$home/.ssh/config"
    printf '#!/bin/sh\nexec /usr/bin/ssh -p %s "$@"\n' $port >"$folder/bin/ssh"
    chmod +x "$folder/bin/ssh"
    /usr/sbin/sshd -f /dev/null -h "$folder/host" -o Port=$port -o ListenAddress=$head -o ListenAddress=$worker \
        -o UsePAM=yes -o PasswordAuthentication=no -o PidFile="$folder/sshd.pid" -o AllowUsers="$user"
    # Nor do launcher and head share a folder on other clusters, or the head's user one with us.
    grep -q RAY_TMPDIR "$home/.bashrc" || sed -i "1i export RAY_TMPDIR=$home" "$home/.bashrc"
    derive
    echo "$folder"
}

# What differs: addresses, which Ray would find out itself on machines of their own, user, key, ports, and that a worker
# must not stop the Ray of its machine, which is the head's.
derive() {
    sed -e "s/head_ip: .*/head_ip: $head/" -e "s/worker_ips: .*/worker_ips: [$worker]/" \
        -e "s/ssh_user: ubuntu/ssh_user: $user/" -e "s|ssh_private_key: .*|ssh_private_key: $folder/key|" \
        -e 's/6379/6390/' -e '/^worker_start_ray_commands:/,/ray start/{/- ray stop/d}' \
        -e "s/ray start --head/& --node-ip-address=$head --dashboard-port=8290/" \
        -e "s/ray start --address/ray start --node-ip-address=$worker --address/" docker/cluster.yaml >"$folder/cluster.yaml"
}

stop() {
    su - "$user" -c "bash -ic 'ray stop'" || true # an ordinary user stops nothing of others
    kill "$(cat "$folder/sshd.pid")"
    for address in $head $worker; do ip address delete "$address/32" dev lo; done
}

case $what in
start) start ;;
stop) stop ;;
ray) # `ray up -y` becomes `ray up cluster.yaml -y`
    command=$3
    RAY_TMPDIR=$folder PATH=$folder/bin:$PATH exec ray "$command" "$folder/cluster.yaml" "${@:4}"
    ;;
esac
